-- +goose Up
-- Signs of a restore beside the cluster and the timeline (docs/verify.md). All columns are null in a database made by the migrations
-- before; the first process that starts records them. Nothing may ever create the table installation again: its oid is one of the signs.

ALTER TABLE installation
  ADD COLUMN database_oid bigint,
  ADD COLUMN table_oid bigint,
  ADD COLUMN agreed_at timestamptz,
  ADD COLUMN held_because text COLLATE "C",
  ADD CONSTRAINT installation_agreed_ck CHECK ((agreed_at IS NULL) = (database_oid IS NULL) AND (agreed_at IS NULL) = (table_oid IS NULL)),
  ADD CONSTRAINT installation_held_ck CHECK (held_because IS NULL OR sending_held_since IS NOT NULL);
COMMENT ON COLUMN installation.database_oid IS 'pg_database.oid of the database; a copy and a restored dump have another one. Null until the first start. Written by migrate, then by epoch.';
COMMENT ON COLUMN installation.table_oid IS 'oid of this table; a restored dump has another one. Null until the first start. Written by migrate, then by epoch.';
COMMENT ON COLUMN installation.agreed_at IS 'When the installation agreed to this database; later with every agreement. A row that is older than one that was seen shows a restore. Written by migrate, then by epoch.';
COMMENT ON COLUMN installation.held_because IS 'Why nothing is sent: the signs of a restore or failover, or operator. Null while sending is not held. Set by the server or by epoch hold, cleared by epoch.';
