import { requireCommands } from '../../testing/debian-packages.js';
import { run } from '../../testing/processes.ts';
import { CEPH_COMMANDS } from '../../testing/servers/ceph.ts';

/** A program the benchmarks call, and the Debian packages it comes from. */
export type Program = keyof typeof packages;

const packages = {
  nginx: 'nginx-light',
  caddy: 'caddy',
  rclone: 'rclone',
  wrk: 'wrk',
  curl: 'curl',
  cmp: 'diffutils',
  git: 'git',
  // The headers of the C library are a package of their own, which it only recommends.
  gcc: 'gcc libc6-dev',
  ...CEPH_COMMANDS,
} as const;

/** All that a Ceph of our own consists of. */
export const cephPrograms: readonly Program[] = Object.keys(CEPH_COMMANDS).filter(isProgram);

/** Sees that every program is there, as the tests do for theirs. */
export function ensurePrograms(programs: readonly Program[]): void {
  requireCommands(Object.fromEntries(programs.map((program) => [program, packages[program]])));
}

/** The version of each program, as the program itself says it. */
export async function readVersions(programs: readonly Program[], signal: AbortSignal): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  for (const program of programs) versions[program] = await readVersion(program, signal);
  return versions;
}

/** Of those that do not take `--version`. */
const versionArguments: Partial<Record<Program, string>> = {
  nginx: '-v',
  caddy: 'version',
  rclone: 'version',
  wrk: '-v',
};

async function readVersion(program: Program, signal: AbortSignal): Promise<string> {
  // nginx says its version on standard error, and wrk exits with 1 after it: the shell evens both out.
  const script = '"$0" "$1" 2>&1 || true';
  const argument = versionArguments[program] ?? '--version';
  const { stdout } = await run({ file: 'sh', args: ['-c', script, program, argument] }, signal);
  return /\d+\.\d+(\.\d+)?[^\s)]*/.exec(stdout)?.[0] ?? 'unknown';
}

function isProgram(name: string): name is Program {
  return name in packages;
}
