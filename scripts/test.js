import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { requireNode } from '../bin/require-node.js';
import { requireCommands } from './debian-packages.js';

// Runs the tests: all, or the files that are named. Arguments that begin with "-" go to Node's test runner.

requireNode();
try {
  requireCommands({ bash: 'bash', curl: 'curl', mount: 'mount' });
} catch (error) {
  process.stderr.write(
    `The tests need what this machine lacks. ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exit(1);
}

const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith('-'));
const files = given.filter((argument) => !argument.startsWith('-'));

const runner = spawn(
  process.execPath,
  [
    '--test',
    `--test-concurrency=${Math.max(2, availableParallelism())}`,
    '--test-timeout=300000',
    ...options,
    ...(files.length > 0 ? files : ['tests/**/*.test.ts']),
  ],
  { stdio: 'inherit' },
);
runner.on('exit', (code) => process.exit(code ?? 1));
