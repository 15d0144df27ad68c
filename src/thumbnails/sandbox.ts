import { systemCallFilter } from './system-call-filter.ts';

/** What isolates a program in addition to its namespaces and limits. Some machines don't support all of it. */
export interface SandboxProtection {
  /** Whether a filter denies the system calls that decoders don't need. */
  readonly filtersCalls: boolean;
  /** Whether bubblewrap forbids further user namespaces (version 0.8 and later). */
  readonly forbidsNamespaces: boolean;
}

export const FULL_PROTECTION: SandboxProtection = { filtersCalls: true, forbidsNamespaces: true };

/** A command that runs a program in the sandbox. */
export interface SandboxedCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** What the command reads from its standard input. The program has an empty one. */
  readonly stdin: Buffer;
}

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
  /** Default: all of it. */
  readonly protection?: SandboxProtection | undefined;
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
 * capabilities, no environment, and no system calls that decoders don't need. It ends with bubblewrap, and bubblewrap with
 * this process.
 */
export function sandboxed(
  [program = '', ...args]: readonly string[],
  { input, memoryBytes, seconds, outputBytes = 0, protection = FULL_PROTECTION }: SandboxLimits,
): SandboxedCommand {
  const readOnly = ['/lib', '/lib64', ...CONFIGURATION].flatMap((path) => ['--ro-bind-try', path, path]);
  // Everything else in memory is read-only, because no limit of the process would count it.
  const output = outputBytes === 0 ? [] : ['--size', String(outputBytes), '--tmpfs', SANDBOX_OUTPUT];
  const isolation = '--unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv --ro-bind /usr /usr';
  const mounts = '--dev /dev --remount-ro /dev --remount-ro / --chdir /';
  // At the first limit, the program gets SIGXCPU. With a single one, it would get SIGKILL, as from Linux without memory.
  const cpuTime = `${Math.ceil(seconds)}:${Math.ceil(seconds) + 1}`;
  const limits = `--as=${Math.ceil(memoryBytes)} --cpu=${cpuTime} --fsize=${outputBytes} --nofile=${MAX_FILES} --core=0`;
  const filter = protection.filtersCalls ? systemCallFilter() : undefined;
  const command = [
    '-c',
    WITH_FILTER,
    'sh',
    '/usr/bin/bwrap',
    ...(filter ? ['--seccomp', '3'] : []),
    ...(protection.forbidsNamespaces ? ['--unshare-user', '--disable-userns'] : []),
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
  return { file: '/bin/sh', args: command, stdin: filter ?? Buffer.alloc(0) };
}

/** Gives bubblewrap the filter as the file descriptor 3, which it closes, and the program an empty standard input. */
const WITH_FILTER = 'exec 3<&0 </dev/null; exec "$@"';

/** What the dynamic linker and fontconfig read outside `/usr`. */
const CONFIGURATION = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/fonts'];
