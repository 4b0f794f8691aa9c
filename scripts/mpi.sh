# SPDX-License-Identifier: BSD-3-Clause
# Source it before anything that starts mpirun: the build's MPI ($preset, default cpu), settings for containers, and one compute thread per rank.
mpi_home=${MPI_HOME:-$(cached "build/${preset:-cpu}" MPI_HOME)}
[[ -z $mpi_home || ! -x $mpi_home/bin/mpirun || $(type -P mpirun) == "$mpi_home/bin/mpirun" ]] || PATH=$mpi_home/bin:$PATH
export OMP_NUM_THREADS=1
# Open MPI refuses to run as root unless two variables allow it; in a container there is only root.
((EUID != 0)) || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI 4.1 from PyPI fails without ssh or rsh, although it needs them only to reach other nodes.
[[ -n $(type -P ssh rsh) ]] || export OMPI_MCA_plm_rsh_agent=
