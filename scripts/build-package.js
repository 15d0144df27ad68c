import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.js';
import { INSTALLED } from './external-packages.js';
import { collectPackages, packageName, readLockfile } from './lockfile.js';
import { createSbom } from './sbom.js';

// Puts what was built into `package`, as it is published: plain JavaScript that needs few packages beside it, and a list
// of every file with where it comes from. The same sources, lockfile and Node.js give the same bytes.

requireNode();

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PACKAGE = join(ROOT, 'package');
const PROVENANCE = 'provenance.json';
const SBOM = 'sbom.cdx.json';

/** Pages whose links and pictures must work outside of the repository. */
const PAGES = ['README.md', 'CHANGELOG.md'];

/** What goes into the package, and what it was made of where it is not a copy of the file of that name. */
const CONTENTS = {
  bin: undefined,
  dist: 'src',
  'web/dist': 'web',
  LICENSE: undefined,
  'README.md': undefined,
  'CHANGELOG.md': undefined,
};

/** What of our own package.json says something about the package, wherever it is. */
const KEPT = [
  'name',
  'version',
  'description',
  'keywords',
  'license',
  'homepage',
  'repository',
  'bugs',
  'type',
  'engines',
  'bin',
];

const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
const { packages } = readLockfile();
const bundled = {
  src: await findBundled('dist/licenses.md'),
  web: [...(await findBundled('web/dist/licenses.md')), ...(await findBundled('web/dist/worker-licenses.md'))],
};
// After requireNode: old Node.js versions can't load TypeScript.
const { makeLinksAbsolute } = await import('./links/absolute.ts');

// Aside, and then put in its place when it is whole.
const aside = await mkdtemp(join(ROOT, '.build-'));
try {
  const building = join(aside, 'package');
  await mkdir(building);
  for (const path of Object.keys(CONTENTS)) {
    if (!existsSync(join(ROOT, path))) throw new Error(`There is no ${path} to pack: run "npm run build".`);
    await cp(join(ROOT, path), join(building, path), { recursive: true });
  }
  await writeJson(join(building, 'package.json'), publishedManifest());
  await writeFile(join(building, SBOM), describeContents());
  for (const page of PAGES) {
    const text = await readFile(join(building, page), 'utf8');
    const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '');
    await writeFile(join(building, page), makeLinksAbsolute(text, repository, `v${manifest.version}`));
  }
  await writeJson(join(building, PROVENANCE), await describeProvenance(building));
  await rm(PACKAGE, { recursive: true, force: true });
  await rename(building, PACKAGE);
} finally {
  await rm(aside, { recursive: true, force: true });
}

function publishedManifest() {
  return {
    ...Object.fromEntries(KEPT.filter((key) => key in manifest).map((key) => [key, manifest[key]])),
    files: [...Object.keys(CONTENTS), SBOM, PROVENANCE],
    dependencies: Object.fromEntries(INSTALLED.map((name) => [name, manifest.dependencies[name]])),
  };
}

/** @param {string} folder the package */
async function describeProvenance(folder) {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = names
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll(sep, '/'),
    )
    .toSorted();
  const files = paths.map(async (path) => {
    const built = Object.entries(CONTENTS).find(([place, from]) => from !== undefined && path.startsWith(`${place}/`));
    const from = path === SBOM ? 'package-lock.json' : (built?.[1] ?? path);
    return { path, sha256: sha256(await readFile(join(folder, path))), from };
  });
  return {
    package: `${manifest.name}@${manifest.version}`,
    source: { ...readCommit(), 'package-lock.json': sha256(await readFile(join(ROOT, 'package-lock.json'))) },
    node: process.versions.node,
    bundled: { src: bundled.src.map(describeBundled), web: bundled.web.map(describeBundled) },
    files: await Promise.all(files),
  };
}

/** The packages that are installed with the package or bundled into it, as CycloneDX. */
function describeContents() {
  return createSbom({
    manifest,
    packages,
    installed: collectPackages(packages, INSTALLED),
    bundled: new Set([...bundled.src, ...bundled.web]),
  });
}

/** @param {string} place in the lockfile */
function describeBundled(place) {
  const entry = packages[place];
  return { package: `${packageName(place)}@${entry?.version}`, integrity: entry?.integrity };
}

/**
 * The places in the lockfile of the packages that are part of what was built.
 *
 * @param {string} licenses the file with their licences
 */
async function findBundled(licenses) {
  const headings = (await readFile(join(ROOT, licenses), 'utf8')).matchAll(/^## (\S+) - (\S+) \(.*\)$/gm);
  return [...headings].map(([, name, version]) => {
    const found = Object.entries(packages).find(
      ([place, locked]) => place.endsWith(`node_modules/${name}`) && locked.version === version,
    );
    if (!found) throw new Error(`${name} ${version} was bundled, and is not in package-lock.json.`);
    return found[0];
  });
}

/** The commit that was built, as git tells it, or else the environment, as where an image is made without the history. */
function readCommit() {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return { commit: git('rev-parse', 'HEAD'), changed: git('status', '--porcelain') !== '' };
  } catch {
    return { commit: process.env['SOURCE_COMMIT'] || null };
  }
}

/** @param {Uint8Array} bytes */
function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * @param {string} path
 * @param {unknown} value
 */
async function writeJson(path, value) {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
