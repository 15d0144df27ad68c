import { requireCommands } from '../../testing/debian-packages.js';
import { run } from '../../testing/processes.ts';
import { CEPH_COMMANDS } from '../../testing/servers/ceph.ts';

/** A program of the benchmarks, and its Debian packages. */
export type Program = keyof typeof packages;

const packages = {
  nginx: 'nginx-light',
  // Apache: mod_dav is in its package.
  apache2: 'apache2-bin',
  caddy: 'caddy',
  rclone: 'rclone',
  wrk: 'wrk',
  curl: 'curl',
  cmp: 'diffutils',
  chattr: 'e2fsprogs',
  git: 'git',
  // The headers of the C library are in a package that it only recommends.
  gcc: 'gcc libc6-dev',
  ...CEPH_COMMANDS,
} as const;

/** The programs of Ceph. */
export const cephPrograms: readonly Program[] = Object.keys(CEPH_COMMANDS).filter(isProgram);

/** Installs missing programs, as the tests do. */
export function ensurePrograms(programs: readonly Program[]): void {
  requireCommands(Object.fromEntries(programs.map((program) => [program, packages[program]])));
}

/** Returns the version of each program, from the program itself. */
export async function readVersions(programs: readonly Program[], signal: AbortSignal): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  for (const program of programs) versions[program] = await readVersion(program, signal);
  return versions;
}

/** The version commands of programs without `--version`. */
const versionArguments: Partial<Record<Program, string>> = {
  nginx: '-v',
  apache2: '-v',
  chattr: '-V',
  caddy: 'version',
  rclone: 'version',
  wrk: '-v',
};

async function readVersion(program: Program, signal: AbortSignal): Promise<string> {
  // nginx prints its version to standard error, and wrk exits with 1. The shell hides both differences.
  const script = '"$0" "$1" 2>&1 || true';
  const argument = versionArguments[program] ?? '--version';
  const { stdout } = await run({ file: 'sh', args: ['-c', script, program, argument] }, signal);
  return /\d+\.\d+(\.\d+)?[^\s)]*/.exec(stdout)?.[0] ?? 'unknown';
}

function isProgram(name: string): name is Program {
  return name in packages;
}
