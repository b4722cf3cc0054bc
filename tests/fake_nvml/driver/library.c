// SPDX-License-Identifier: Apache-2.0
// What every library of a simulated driver is made from: a real shared object that loads without any other. The texts
// are placeholders that the layout of the tree overwrites, so that one build serves every name and version.

const char simulated_driver_version[] = "@version----------------------------------------";

int simulated_driver_answer(void)
{
  return 42;
}

// The note by which loaders tell the system that an object is for; Mesos's own isolator insists on it in libnvidia-tls.
__asm__(".pushsection .note.ABI-tag,\"a\"\n"
        ".balign 4\n"
        ".long 4, 16, 1\n"
        ".asciz \"GNU\"\n"
        ".long 0, 2, 3, 99\n"
        ".popsection\n");
