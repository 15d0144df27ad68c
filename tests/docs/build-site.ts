import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The docs site in a temporary folder. */
export interface BuiltSite {
  readonly folder: string;
  remove(): Promise<void>;
}

/** Builds the docs site. It works below any path. */
export async function buildSite(): Promise<BuiltSite> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-site-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build-docs.js'), '--out', folder]);
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, remove };
}
