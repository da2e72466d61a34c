-- +goose Up
CREATE INDEX payments_excess_ix ON payments (currency) INCLUDE (excess) WHERE excess > 0;
COMMENT ON INDEX payments_excess_ix IS 'Payments that were refunded above what was captured, which are few: the continuous check sums them all the time.';
