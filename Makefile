# The verbs of the house. `make help` lists them.
SHELL := bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
export GOTOOLCHAIN := $(shell scripts/toolchain)
RUN_FLAGS ?=
SEEDS ?= 400000
KILLS ?= 600
CUTS ?= 1000

.DEFAULT_GOAL := help
.PHONY: help run test lint conformance audit build generate bench model simulation crash fmt

help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Build and run everything on this machine: API, worker, PostgreSQL, simulated channel (RUN_FLAGS='--listen …')
	@scripts/deps postgres
	@scripts/datadir $(RUN_FLAGS)
	@$(MAKE) --no-print-directory build
	@exec bin/refundry dev $(RUN_FLAGS)

test: ## Vet, staticcheck, generated files, the released API, all tests with the race detector on real PostgreSQL
	@scripts/test

lint: ## golangci-lint, with the import fences
	go tool -modfile=tools/go.mod golangci-lint run ./...

conformance: ## The brokers' conformance suite at full length, the flood and all recorded readings, as a table (RACE=-race for the detector)
	@scripts/conformance $(RACE)

audit: ## Known vulnerabilities (govulncheck on a pinned database) and module checksums
	@scripts/audit

build: ## Build bin/refundry: static, and the same bytes from the same source (scripts/reproducible checks)
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -buildid= -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o bin/refundry ./cmd/server

generate: ## Make the generated code and documents anew
	go generate ./...

bench: build ## Measure accepting and the whole life of refunds on this machine
	@scripts/deps postgres
	bin/refundry bench accept
	bin/refundry bench lifecycle

model: ## Explore the model of claim, lease, send, query and late answer (Spin), and the mistakes planted in it
	@scripts/deps model
	@test/model/run

simulation: ## Tell stories of the pure core from seeds, with and without planted bugs, and print what was reached (SEEDS=…)
	go test -count=1 -v -timeout 60m -run '^Test(Simulation|SameSeed)' ./internal/refund -seeds=$(SEEDS)

crash: ## Kill the program 600 times at every named place, cut 1,000 COMMITs, and check every promise (KILLS=…, CUTS=…)
	@scripts/deps postgres
	go test -count=1 -v -timeout 120m -run TestEveryPlaceIsSurvived ./test/crash -kills=$(KILLS)
	go test -count=1 -v -timeout 60m -run TestEveryCommitMayBeCut ./internal/store -cuts=$(CUTS)

fmt: ## Format the Go code
	go tool -modfile=tools/go.mod golangci-lint fmt
