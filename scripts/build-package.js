import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.js';
import { readCommit } from './commit.js';
import { INSTALLED } from './external-packages.js';
import { collectPackages, packageName, readLockfile } from './lockfile.js';
import { createSbom } from './sbom.js';

// Assembles the npm package in `package`: the built service and web UI, the bill of materials, and the source of each file.
// The same sources, lockfile and Node.js version give the same bytes.

requireNode();

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PACKAGE = join(ROOT, 'package');
const PROVENANCE = 'provenance.json';
const SBOM = 'sbom.cdx.json';

/** Pages whose links and pictures must work outside of the repository. */
const PAGES = ['README.md', 'CHANGELOG.md'];

/** The contents of the package, with the folder that each was built from. Without one, it is a copy. */
const CONTENTS = {
  bin: undefined,
  dist: 'src',
  'web/dist': 'web',
  LICENSE: undefined,
  'README.md': undefined,
  'CHANGELOG.md': undefined,
};

/** The fields of the project's package.json that the package keeps. */
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

// Built in a temporary folder, which replaces `package` only when it is complete.
const temporary = await mkdtemp(join(ROOT, '.build-'));
try {
  const building = join(temporary, 'package');
  await mkdir(building);
  for (const path of Object.keys(CONTENTS)) {
    if (!existsSync(join(ROOT, path))) throw new Error(`${path} is missing. Run "npm run build".`);
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
  await rm(temporary, { recursive: true, force: true });
}

function publishedManifest() {
  return {
    ...Object.fromEntries(KEPT.filter((key) => key in manifest).map((key) => [key, manifest[key]])),
    files: [...Object.keys(CONTENTS), SBOM, PROVENANCE],
    dependencies: installedOf(manifest.dependencies),
    optionalDependencies: installedOf(manifest.optionalDependencies),
  };
}

/** @param {Record<string, string>} versions */
function installedOf(versions) {
  return Object.fromEntries(INSTALLED.filter((name) => name in versions).map((name) => [name, versions[name]]));
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
    source: { ...readCommit(ROOT), 'package-lock.json': sha256(await readFile(join(ROOT, 'package-lock.json'))) },
    node: process.versions.node,
    bundled: { src: bundled.src.map(describeBundled), web: bundled.web.map(describeBundled) },
    files: await Promise.all(files),
  };
}

/** Returns the bill of materials: the packages that npm installs with the package, and those bundled into it. */
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
 * Returns the places in the lockfile of the packages that were bundled.
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
