# make demo      installs what is missing, builds, measures the example and shows how close compensation comes
# make test      installs what the tests need, runs them all, and builds the book
# make build     builds the command and its libraries; needs no MPI
# make install   PREFIX=/usr/local: the command to PREFIX/bin, its libraries to PREFIX/lib/tareweight, the interfaces for programs
#                to PREFIX/include and PREFIX/share/tareweight, manual pages and completion to PREFIX/share
# make book      the documentation as a book, in target/book; builds mdbook where it is missing
# make bench     prints what a probe costs, as a ratio to reading the clock, also beside other tools and against the truth, what is added to
#                a message where there is an MPI, and what analysis and rewriting cost, as ratios to decoding
# make sanitizers  runs what is loaded into programs under the address and the thread sanitizer (ten minutes)
# make budget-table  runs codes with a budget of 2 %, with preset auto and with everything selected, and prints what it cost (15 minutes)
# make validation-table  compares compensated with unmeasured times on both MPIs: the table of docs/validation.md (half an hour)
# make picture   measures LAMMPS and makes docs/page.png, the picture of its page, anew
# make survey    instruments real programs whole and has them do real work (an hour; installs what is missing)

PREFIX ?= /usr/local
CARGO ?= cargo
# Pairs of runs in the demonstration.
PAIRS ?= 15

RELEASE := $(or $(CARGO_TARGET_DIR),target)/release
EXAMPLES := $(or $(CARGO_TARGET_DIR),target)/examples
TOOLS := $(or $(CARGO_TARGET_DIR),target)/tools
MDBOOK := $(or $(shell command -v mdbook),$(TOOLS)/bin/mdbook)
LIBRARIES := libtare.so libtare_openmpi.so libtare_mpich.so libtare_mpiabi.so libtare_tally.so

PACKAGES_FOR_BUILD := gcc libc6-dev
PACKAGES_FOR_DEMO := $(PACKAGES_FOR_BUILD) openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran g++
PACKAGES_FOR_TEST := $(PACKAGES_FOR_DEMO) binutils hpcc lammps lammps-examples libomp-dev git perl python3 ripgrep sqlite3 gdb numactl strace time clang lld mold dwz graphviz llvm xz-utils libxml2-utils python3-jsonschema python3-pip chromium-headless-shell valgrind golang-go prometheus zsh fish man-db

PACKAGES_FOR_BENCH := python3 gcc clang libclang-rt-14-dev uftrace
PACKAGES_FOR_BUDGET := python3 python3.11 g++ sqlite3 libsqlite3-0 openmpi-bin hpcc lammps tachyon-bin-nox libtachyon-openmpi-0 phyml mrbayes-mpi

# mpirun refuses to run as root unless it is told twice.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

.PHONY: build demo test book bench sanitizers budget-table validation-table picture survey install examples packages-for-demo packages-for-test rust-components clean

build:
	$(CARGO) build --release --workspace

packages-for-demo:
	@tools/install-packages $(PACKAGES_FOR_DEMO)

packages-for-test:
	@tools/install-packages $(PACKAGES_FOR_TEST)
	@tools/install-mpi-abi $(TOOLS)/mpi-abi
	@tools/install-axe $(TOOLS)/axe

rust-components:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

examples: packages-for-demo
	@mkdir -p $(EXAMPLES)
	mpicc.openmpi -O2 -g -o $(EXAMPLES)/pi examples/pi/pi.c -lm
	mpicc.mpich -O2 -g -o $(EXAMPLES)/pi-mpich examples/pi/pi.c -lm
	mpicc.openmpi -O2 -g -o $(EXAMPLES)/patterns examples/patterns/patterns.c
	mpifort.openmpi -O2 -g -J $(EXAMPLES) -o $(EXAMPLES)/halo examples/patterns/halo.f90
	mpicxx.openmpi -O2 -g -o $(EXAMPLES)/exceptions examples/cases/exceptions.cpp
	mpifort.openmpi -O2 -g -J $(EXAMPLES) -o $(EXAMPLES)/mpi_f08 examples/cases/mpi_f08.f90

demo: packages-for-demo build examples
	$(RELEASE)/tare profile --preset all -o $(EXAMPLES)/pi-run -- mpirun.openmpi -n 2 $(EXAMPLES)/pi
	$(RELEASE)/tare validate --preset all -n $(PAIRS) -o $(EXAMPLES)/pi-validation -- mpirun.openmpi -n 2 $(EXAMPLES)/pi

test: packages-for-test rust-components
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items
	$(CARGO) build --release --workspace
	$(CARGO) test --release --workspace
	@$(MAKE) --no-print-directory book

book: $(MDBOOK)
	$(MDBOOK) build

$(TOOLS)/bin/mdbook:
	$(CARGO) install --locked --root $(TOOLS) mdbook

bench: build
	@tools/install-packages $(PACKAGES_FOR_BENCH)
	$(CARGO) bench -p tare-runtime
	python3 tools/peers.py --tare $(RELEASE)/tare
	python3 tools/pair_cost.py --tare $(RELEASE)/tare
	python3 tools/message_cost.py --tare $(RELEASE)/tare
	$(CARGO) bench -p tare-code --bench analysis
	$(CARGO) bench -p tare-select --bench auto
	$(CARGO) bench -p tare-rewrite --bench hooks
	$(CARGO) bench -p tare-rewrite --bench rewriting

sanitizers: build packages-for-demo
	@tools/install-packages clang binutils libclang-rt-14-dev python3-pip
	@tools/install-mpi-abi $(TOOLS)/mpi-abi
	python3 tools/sanitizers.py --tare $(RELEASE)/tare

budget-table: build examples
	@tools/install-packages $(PACKAGES_FOR_BUDGET)
	python3 tools/budget_table.py --tare $(RELEASE)/tare --examples $(EXAMPLES)
	python3 tools/budget_table.py --tare $(RELEASE)/tare --preset all

validation-table: build packages-for-demo
	@tools/install-packages hpcc lammps gromacs gromacs-data liggghts meep-openmpi tachyon-bin-nox libtachyon-openmpi-0 phyml mrbayes-mpi
	python3 tools/validation_table.py --tare $(RELEASE)/tare

picture: build packages-for-demo
	@tools/install-packages lammps lammps-examples chromium-headless-shell
	TARE=$(abspath $(RELEASE))/tare tools/page_picture

survey: build
	@tools/install-packages gcc python3 $$(python3 tools/survey/survey.py --packages)
	python3 tools/survey/survey.py --tare $(RELEASE)/tare --json $(RELEASE)/survey.json

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/tareweight
	install -m 755 $(RELEASE)/tare $(DESTDIR)$(PREFIX)/bin/tare
	install -m 755 $(addprefix $(RELEASE)/,$(LIBRARIES)) $(DESTDIR)$(PREFIX)/lib/tareweight/
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/tareweight/rust/src
	install -m 644 crates/api/include/tare.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 crates/api/fortran/tare.f90 $(DESTDIR)$(PREFIX)/share/tareweight/
	install -m 644 crates/api/Cargo.toml $(DESTDIR)$(PREFIX)/share/tareweight/rust/
	install -m 644 crates/api/src/lib.rs $(DESTDIR)$(PREFIX)/share/tareweight/rust/src/
	$(RELEASE)/tare manual -o $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	$(RELEASE)/tare completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tare
	$(RELEASE)/tare completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tare
	$(RELEASE)/tare completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tare.fish

clean:
	$(CARGO) clean
