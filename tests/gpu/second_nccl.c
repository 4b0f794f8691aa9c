/* A second library with NCCL's name, for the check that finds two. */
int plumbline_second_nccl(void) {
  return 0;
}
