import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/* Runs the test files of TEST_FILES (JSON) in one process. */

const files: readonly string[] = JSON.parse(process.env['TEST_FILES'] ?? '[]');
for (const file of files) await import(pathToFileURL(resolve(file)).href);
