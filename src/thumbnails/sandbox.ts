/** The limits of a program in the sandbox. */
export interface SandboxLimits {
  /** The path of the file that the program sees as `SANDBOX_INPUT`. */
  readonly input: string;
  /** Maximum address space, in bytes. It includes shared libraries and the stacks of threads. */
  readonly memoryBytes: number;
  /** Maximum CPU time, in seconds. */
  readonly seconds: number;
  /** Maximum bytes of files in `SANDBOX_OUTPUT`, in memory. Default: 0, without the folder. */
  readonly outputBytes?: number;
}

/** The path of the input in the sandbox. */
export const SANDBOX_INPUT = '/input';

/** The only folder in which the program can create files, for programs that can't write to a pipe. */
export const SANDBOX_OUTPUT = '/output';

/** Maximum open files. */
const MAX_FILES = 64;

/**
 * Returns the command that runs a program of `/usr/bin` in a sandbox, by bubblewrap and prlimit. The program sees only
 * `/usr` and the input, and can write nowhere except to its output. It has no network, no other processes, no
 * capabilities and no environment. It ends with bubblewrap, and bubblewrap with this process.
 */
export function sandboxed(
  [program = '', ...args]: readonly string[],
  { input, memoryBytes, seconds, outputBytes = 0 }: SandboxLimits,
): [file: string, ...args: string[]] {
  const readOnly = ['/lib', '/lib64', ...CONFIGURATION].flatMap((path) => ['--ro-bind-try', path, path]);
  // Everything else in memory is read-only, because no limit of the process would count it.
  const output = outputBytes === 0 ? [] : ['--size', String(outputBytes), '--tmpfs', SANDBOX_OUTPUT];
  const isolation = '--unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv --ro-bind /usr /usr';
  const mounts = '--dev /dev --remount-ro /dev --remount-ro / --chdir /';
  // At the first limit, the program gets SIGXCPU. With a single one, it would get SIGKILL, as from Linux without memory.
  const cpuTime = `${Math.ceil(seconds)}:${Math.ceil(seconds) + 1}`;
  const limits = `--as=${Math.ceil(memoryBytes)} --cpu=${cpuTime} --fsize=${outputBytes} --nofile=${MAX_FILES} --core=0`;
  return [
    '/usr/bin/bwrap',
    ...isolation.split(' '),
    ...readOnly,
    '--ro-bind',
    input,
    SANDBOX_INPUT,
    ...output,
    ...mounts.split(' '),
    '/usr/bin/prlimit',
    ...limits.split(' '),
    `/usr/bin/${program}`,
    ...args,
  ];
}

/** What the dynamic linker and fontconfig read outside `/usr`. */
const CONFIGURATION = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/fonts'];
