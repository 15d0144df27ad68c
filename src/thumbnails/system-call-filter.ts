/*
 * A seccomp filter for decoders (seccomp(2)): a program of classic BPF, which the kernel runs before each system call. It
 * denies the calls that decoders don't need and that reach large parts of the kernel, or other processes.
 */

/** The architecture of system calls, by `process.arch` (linux/audit.h). */
const ARCHITECTURES = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
} as const;

/** Denied system calls, with their numbers on x86-64 and ARM64; null where it does not exist (asm/unistd.h). */
const DENIED: Readonly<Record<string, readonly [number, number | null]>> = {
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_open: [434, 434],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  // Namespaces and mounts.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  // Sockets of every family.
  socket: [41, 198],
  socketpair: [53, 199],
  // Parts of the kernel in which many vulnerabilities were found.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  memfd_secret: [447, 447],
  personality: [135, 92],
  modify_ldt: [154, null],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  lookup_dcookie: [212, 18],
  // The machine.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  iopl: [172, null],
  ioperm: [173, null],
  sysfs: [139, null],
  uselib: [134, null],
  ustat: [136, null],
};

/** `clone` is denied with the flags of new namespaces. `clone3` has them in memory, which a filter can't read. */
const CLONE = [56, 220] as const;
const CLONE3 = [435, 435] as const;
const NAMESPACE_FLAGS = 0x7e02_0000;

/** System calls of the x32 ABI, which have this bit in their number. */
const X32_BIT = 0x4000_0000;

/** The actions of a filter (linux/seccomp.h), and the errors of denied calls. */
const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const FAIL = 0x0005_0000;
const EPERM = 1;
const ENOSYS = 38;

/** Instructions (linux/bpf_common.h), and positions in `struct seccomp_data`. */
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;

type Instruction = readonly [code: number, value: number, skipIfTrue?: number, skipIfFalse?: number];

/** Returns the denied system calls of an architecture by their names, with their numbers. */
export function deniedCalls(arch: NodeJS.Architecture = process.arch): ReadonlyMap<string, number> {
  const column = isSupported(arch) ? ARCHITECTURES[arch].column : undefined;
  if (column === undefined) return new Map();
  const found = Object.entries(DENIED).map(([name, numbers]) => [name, numbers[column]] as const);
  return new Map(found.filter((entry): entry is [string, number] => entry[1] !== null));
}

/** Returns the filter for an architecture, as `bwrap --seccomp` reads it; undefined if the architecture is unknown. */
export function systemCallFilter(arch: NodeJS.Architecture = process.arch): Buffer | undefined {
  if (!isSupported(arch)) return undefined;
  const { audit, column } = ARCHITECTURES[arch];
  const deny = (number: number, error: number): Instruction[] => [
    [IF_EQUAL, number, 0, 1],
    [RETURN, FAIL | error],
  ];
  return encode([
    [LOAD, ARCHITECTURE],
    [IF_EQUAL, audit, 1, 0],
    [RETURN, KILL],
    [LOAD, NUMBER],
    [IF_AT_LEAST, X32_BIT, 0, 1],
    [RETURN, FAIL | ENOSYS],
    // Without it, the C library falls back to clone.
    ...deny(CLONE3[column], ENOSYS),
    ...[...deniedCalls(arch).values()].flatMap((number) => deny(number, EPERM)),
    [IF_EQUAL, CLONE[column], 0, 3],
    [LOAD, FIRST_ARGUMENT],
    [IF_ANY_BIT, NAMESPACE_FLAGS, 0, 1],
    [RETURN, FAIL | EPERM],
    [RETURN, ALLOW],
  ]);
}

const isSupported = (arch: string): arch is keyof typeof ARCHITECTURES => Object.hasOwn(ARCHITECTURES, arch);

/** Encodes instructions as `struct sock_filter` of a little-endian machine. */
function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, value, skipIfTrue = 0, skipIfFalse = 0]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(skipIfTrue, index * 8 + 2);
    bytes.writeUInt8(skipIfFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
