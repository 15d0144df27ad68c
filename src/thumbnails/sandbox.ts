/** The limits of a program in the sandbox. */
export interface SandboxLimits {
  /** The path of the file that the program sees as `SANDBOX_INPUT`. */
  readonly input: string;
  /** Maximum address space, in bytes. It includes shared libraries and the stacks of threads. */
  readonly memoryBytes: number;
  /** Maximum CPU time, in seconds. */
  readonly seconds: number;
}

/** The path of the input in the sandbox. */
export const SANDBOX_INPUT = '/input';

/** Maximum open files. */
const MAX_FILES = 64;

/**
 * Returns the command that runs a program of `/usr/bin` in a sandbox, by bubblewrap and prlimit. The program sees only
 * `/usr` and the input, and can write nowhere except to its output. It has no network, no other processes, no
 * capabilities and no environment. It ends with bubblewrap, and bubblewrap with this process.
 */
export function sandboxed(
  [program = '', ...args]: readonly string[],
  { input, memoryBytes, seconds }: SandboxLimits,
): [file: string, ...args: string[]] {
  const readOnly = ['/lib', '/lib64', ...CONFIGURATION].flatMap((path) => ['--ro-bind-try', path, path]);
  return [
    '/usr/bin/bwrap',
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    ...['--ro-bind', '/usr', '/usr', ...readOnly, '--ro-bind', input, SANDBOX_INPUT],
    // Both are in memory, which no limit of the process would count.
    ...['--dev', '/dev', '--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/'],
    '/usr/bin/prlimit',
    ...[`--as=${Math.ceil(memoryBytes)}`, `--cpu=${Math.ceil(seconds)}`, '--fsize=0'],
    ...[`--nofile=${MAX_FILES}`, '--core=0', `/usr/bin/${program}`, ...args],
  ];
}

/** What the dynamic linker and fontconfig read outside `/usr`. */
const CONFIGURATION = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/fonts'];
