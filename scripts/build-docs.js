import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requireNode } from '../bin/require-node.js';

/*
 * Builds the docs site into `site`, or into the folder of `--out`. It works below any path. A server that sends `404.html`
 * for missing pages needs the path in `--base`, because that page is shown at any depth.
 */

requireNode();

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/holdall');

const { values } = parseArgs({ options: { base: { type: 'string' }, out: { type: 'string', default: 'site' } } });
const { base, out } = values;
if (base !== undefined && !/^\/(?:[^/]+\/)*$/.test(base)) {
  throw new Error(`--base "${base}" must start and end with a slash.`);
}

const { build } = await import('vitepress');
await mkdir(CACHE, { recursive: true });
// Of its own, so that two builds can run at the same time. Below the project, because its modules import packages.
const temporary = await mkdtemp(join(CACHE, 'docs-'));
try {
  await build(join(ROOT, 'docs'), {
    outDir: resolve(ROOT, out),
    ...(base === undefined ? {} : { base }),
    onAfterConfigResolve(config) {
      config.tempDir = temporary;
    },
  });
} finally {
  await rm(temporary, { recursive: true, force: true });
}
