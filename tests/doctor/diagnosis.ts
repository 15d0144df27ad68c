import assert from 'node:assert/strict';
import { runCli } from '../../testing/cli.ts';

/** One finding, in the form of `holdall doctor --json`. */
interface Finding {
  readonly check: string;
  readonly status: string;
  readonly found: string;
  readonly advice?: string;
}

export interface Diagnosis {
  readonly code: number;
  readonly findings: readonly Finding[];
  /** The complete output. */
  readonly printed: string;
  /** Returns the only finding of a check. */
  of(check: string): Finding;
  /** Returns the names of the checks with a status, except for those that depend on the machine that runs the tests. */
  with(status: string): string[];
}

/** Checks whose result depends on the machine, for any store. */
const OF_MACHINE = ['thumbnail-programs', 'open-files', 'disk-space', 'disk-kind', 'disk-copies', 'disk-attributes'];

/** Runs `holdall doctor` in this process. */
export async function diagnose(
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Diagnosis> {
  const { code, stdout, stderr } = await runCli(['doctor', '--json', ...args], {
    // Smaller than the default size, which takes longer and proves the same. The programs depend on the machine.
    environment: { WORKERS: '1', UPLOAD_CHUNK_SIZE: '5MiB', THUMBNAIL_PROGRAMS: 'false', ...environment },
  });
  assert.equal(stderr, '');
  const { findings, success } = JSON.parse(stdout) as { findings: readonly Finding[]; success: boolean };
  assert.equal(success, code === 0);
  return {
    code,
    findings,
    printed: stdout,
    of(check) {
      const [finding, ...others] = findings.filter((each) => each.check === check);
      assert.ok(finding, `There is no ${check} in ${stdout}`);
      assert.equal(others.length, 0, check);
      return finding;
    },
    with: (status) =>
      findings.filter((each) => each.status === status && !OF_MACHINE.includes(each.check)).map(({ check }) => check),
  };
}
