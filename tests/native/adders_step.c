/* A library of `adders.c`, of which there are two builds. */
#ifndef STEP
#define STEP 1
#endif

int step(void)
{
    return STEP;
}
