/* A program with many tests: the name of one is its argument. */
struct test {
    const char *name;
    void (*run)(void);
};

static void run_test(void *one)
{
    ((const struct test *)one)->run();
}

static int choose(const struct test *tests, int length, int count, char **arguments)
{
    for (int i = 0; i < length; i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(run_test, (void *)&tests[i]);
    fprintf(stderr, "which test?\n");
    return 2;
}

#define MAIN(tests)                                            \
    int main(int count, char **arguments)                      \
    {                                                          \
        return choose(tests, LENGTH(tests), count, arguments); \
    }
