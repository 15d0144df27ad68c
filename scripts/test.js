import { requireNode } from '../bin/require-node.js';

// Runs the tests: all except those in tests/long, or the named files. CONTRIBUTING.md describes the options.

requireNode();

// Imported after the check, because old Node.js versions can't read TypeScript.
const { runTests } = await import('../tests/runner/main.ts');
process.exitCode = await runTests(process.argv.slice(2));
