// Empty hooks, as in a measurement library that is switched off.
void __cyg_profile_func_enter(void *function, void *caller) { (void)function, (void)caller; }
void __cyg_profile_func_exit(void *function, void *caller) { (void)function, (void)caller; }
