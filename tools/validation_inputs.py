"""Inputs of a second or so for programs of Debian's archive, for tools/validation_table.py."""

# Waves in a waveguide (Meep).
WAVES = """(set! geometry-lattice (make lattice (size 24 12 no-size)))
(set! geometry (list (make block (center 0 0) (size infinity 1 infinity) (material (make medium (epsilon 12))))))
(set! sources (list (make source (src (make continuous-src (frequency 0.15))) (component Ez) (center -7 0))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 20)
(run-until 60)
"""

# Grains that fall into a cylinder (LIGGGHTS).
GRAINS = """atom_style granular
atom_modify map array
boundary f f f
newton off
communicate single vel yes
units si
region all block -0.05 0.05 -0.05 0.05 0. 0.15 units box
create_box 1 all
neighbor 0.002 bin
neigh_modify delay 0
fix youngs all property/global youngsModulus peratomtype 5.e6
fix poisson all property/global poissonsRatio peratomtype 0.45
fix bounce all property/global coefficientRestitution peratomtypepair 1 0.95
fix rub all property/global coefficientFriction peratomtypepair 1 0.05
pair_style gran model hertz tangential history
pair_coeff * *
timestep 0.00001
fix down all gravity 9.81 vector 0.0 0.0 -1.0
fix floor all wall/gran model hertz tangential history primitive type 1 zplane 0.0
fix wall all wall/gran model hertz tangential history primitive type 1 zcylinder 0.05 0. 0.
fix grain all particletemplate/sphere 15485863 atom_type 1 density constant 2500 radius constant 0.0025
fix sizes all particledistribution/discrete 15485867 1 grain 1.0
region top cylinder z 0. 0. 0.045 0.05 0.13 units box
fix pour all insert/pack seed 32452843 distributiontemplate sizes vel constant 0. 0. -0.5 insert_every once overlapcheck yes all_in yes particles_in_region 1800 region top
fix move all nve/sphere
thermo 500
run 8000
"""

# Water (GROMACS): topology, parameters, and what makes a run of them.
WATER = """#include "gromos43a1.ff/forcefield.itp"
#include "gromos43a1.ff/spc.itp"
[ system ]
water
[ molecules ]
SOL 1728
"""
DYNAMICS = """integrator = md
nsteps = 200
dt = 0.001
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
constraints = none
"""
POUR = ["gmx_mpi", "genconf", "-f", "/usr/share/gromacs/top/spc216.gro", "-nbox", "2", "2", "2", "-o", "conf.gro"]
COMPOSE = ["gmx_mpi", "grompp", "-f", "md.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "water.tpr", "-maxwarn", "5"]
SIMULATE = ["gmx_mpi", "mdrun", "-s", "water.tpr", "-ntomp", "1", "-deffnm", "out", "-noconfout"]
