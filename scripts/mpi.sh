# Sourced before anything starts mpirun: what a container needs, and one compute thread a rank.
export OMP_NUM_THREADS=1
# Open MPI refuses to run as root unless told twice; in a container root is all there is.
((EUID != 0)) || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
