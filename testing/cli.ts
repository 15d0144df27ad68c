import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { runCommand } from '../src/cli/run.ts';

/** What a command printed, and its exit code. */
export interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process, without `.env` and with only the given environment. */
export async function runCli(
  args: readonly string[],
  {
    environment = {},
    input = '',
  }: { environment?: Readonly<Record<string, string | undefined>>; input?: Uint8Array | string } = {},
): Promise<Printed> {
  const printed = { stdout: '', stderr: '' };
  const code = await runCommand({
    args,
    stdin: Readable.from([Buffer.from(input)]),
    print: (text) => void (printed.stdout += text),
    explain: (text) => void (printed.stderr += text),
    hasColors: false,
    loadEnvironment: async (options = {}) => ({ variables: { ...environment, ...options }, sources: new Map() }),
    serve: () => assert.fail('The command serves.'),
  });
  return { code, ...printed };
}
