// Nothing but headers: see CMakeLists.txt.
int main() { return 0; }
