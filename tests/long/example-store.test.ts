/*
 * Compiles the example store of the docs: the compiler finds what its tests, which run it, don't. It takes longer than all other
 * tests of the docs.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { atEnd } from '../../testing/holdall.ts';
import { createExampleProject, PROJECT } from '../docs/example-store.ts';

it('The example store of docs/writing-a-store.md compiles', async (t) => {
  const project = await createExampleProject();
  atEnd(t, () => project.remove());
  const compiler = join(PROJECT, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [compiler, '-p', project.folder]).catch(
    ({ stdout }: { stdout: string }) => assert.fail(stdout),
  );
});
