# The menu. Every entry calls `cargo xtask`, which knows the details: `cargo xtask help`.

CARGO ?= cargo

.PHONY: menu demo test bench sim fuzz lab docs fmt

menu:
	@echo 'make demo    Tidegate with three embedded servers, a short tour, then serves until Ctrl-C'
	@echo 'make test    every gate: formatting, lints, tests, simulator, real servers and drivers'
	@echo 'make bench   beside a direct connection and HAProxy; OPTIONS="--conns 64 --rounds 5"'
	@echo 'make sim     the simulator, SEEDS=100000'
	@echo 'make fuzz    every fuzz target for SECONDS=60, or only TARGETS="frame command"'
	@echo 'make lab     real servers on loopback, a primary and two replicas'
	@echo 'make docs    the API documentation and the generated reference'
	@echo 'make fmt     formats everything'

demo:
	$(CARGO) run --locked --profile fastbuild -p tidegate -- demo $(OPTIONS)

test:
	$(CARGO) xtask packages
	$(CARGO) xtask ci

bench:
	$(CARGO) xtask packages
	$(CARGO) xtask bench $(OPTIONS)

sim:
	$(CARGO) xtask sim $(or $(SEEDS),100000)

fuzz:
	$(CARGO) xtask fuzz $(or $(SECONDS),60) $(TARGETS)

lab:
	$(CARGO) xtask lab $(OPTIONS)

docs:
	$(CARGO) xtask docs

fmt:
	$(CARGO) fmt --all
