# The commands of this repository; `make help` lists them.
SHELL := bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
export GOTOOLCHAIN := $(shell scripts/toolchain)
RUN_FLAGS ?=
SEEDS ?= 400000
KILLS ?= 600
CUTS ?= 1000
MUTANTS ?=

.DEFAULT_GOAL := help
.PHONY: help run test lint conformance audit build generate bench model simulation mutants crash restore fmt

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Build and run everything on this machine: API, worker, PostgreSQL, simulated channel (RUN_FLAGS='--listen …')
	@scripts/deps postgres
	@scripts/datadir $(RUN_FLAGS)
	@$(MAKE) --no-print-directory build
	@exec bin/refundry dev $(RUN_FLAGS)

test: ## Run vet, staticcheck, the checks of generated files and of the released API, and all tests with the race detector on real PostgreSQL
	@scripts/test

lint: ## Run golangci-lint, including the import fences
	go tool -modfile=tools/go.mod golangci-lint run ./...

conformance: ## Run the conformance suite of brokers at full length, the flood and all recorded requests, and print a table (RACE=-race: with the race detector)
	@scripts/conformance $(RACE)

audit: ## Search for known vulnerabilities (govulncheck with a pinned database) and check the module checksums
	@scripts/audit

build: ## Build bin/refundry, static and reproducible (scripts/reproducible checks it)
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -buildid= -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o bin/refundry ./cmd/server

generate: ## Regenerate the generated code and documents
	go generate ./...

bench: build ## Measure accepted and completed refunds per second on this machine
	@scripts/deps postgres
	bin/refundry bench accept
	bin/refundry bench lifecycle

model: ## Explore the Spin model of claim, lease, send, query and late answer, and its planted mistakes
	@scripts/deps model
	@test/model/run

simulation: ## Simulate random histories of the core, with and without planted bugs, and print what was covered (SEEDS=…)
	go test -count=1 -v -timeout 60m -run '^Test(Simulation|SameSeed)' ./internal/refund -seeds=$(SEEDS)

mutants: ## Change the domain in 1,000 places, one at a time, and list the changes that no test notices; goes on where it stopped (MUTANTS='-only …')
	go run ./test/mutants $(MUTANTS)

crash: ## Kill the program 600 times at the fault points, cut 1,000 COMMITs, and check every promise (KILLS=…, CUTS=…)
	@scripts/deps postgres
	go test -count=1 -v -timeout 120m -run TestEveryPlaceIsSurvived ./test/crash -kills=$(KILLS)
	go test -count=1 -v -timeout 60m -run TestEveryCommitMayBeCut ./internal/store -cuts=$(CUTS)

restore: ## Restore and fail over the database in eight ways under the running program; nothing may be paid twice (about 3 minutes)
	@scripts/deps postgres
	go test -count=1 -v -timeout 20m -run '^TestARestoreSendsNothingTwice$$' ./test/restore -full | grep --line-buffered -vE '^=== |^ +--- PASS'; exit "$${PIPESTATUS[0]}"

fmt: ## Format the Go code
	go tool -modfile=tools/go.mod golangci-lint fmt
