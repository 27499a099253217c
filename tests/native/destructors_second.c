/* A library that needs the other one, and is linked after it. */
void note(char letter);

__attribute__((destructor)) static void second_end(void)
{
    note('s');
}
