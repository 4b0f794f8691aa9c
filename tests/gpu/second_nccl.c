/* A second library by the name of NCCL's, for the check that finds two. */
int plumbline_second_nccl(void) {
  return 0;
}
