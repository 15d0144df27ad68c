import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
// A default import, because old Node.js versions lack `globSync`: a named import would fail before `requireNode`
// reports the version.
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CODE_CACHE } from '../bin/code-cache.js';
import { requireNode } from '../bin/require-node.js';
import { readCommit } from './commit.js';

// Builds what is named in the arguments ("page", "service", "package"), or everything. Skips the page and the service if
// neither their inputs nor their output changed since the last build.

requireNode();

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** `npm ci` removes this folder, so every build is repeated after it. */
const STAMPS = join(ROOT, 'node_modules/.cache/holdall/builds');

/**
 * The file with the commit of the service, which `src/system.ts` reads. It is written even if the build is skipped, so that a
 * commit costs no build.
 */
const COMMIT_FILE = 'dist/commit.json';

/** Files that both builds depend on. The lockfile stands for the installed packages. */
const SHARED_INPUTS = ['package.json', 'package-lock.json', 'bin/require-node.js'];

/**
 * The script, the output folder and the input files of each build. The package has no inputs and is always built: its
 * provenance names the git commit.
 *
 * @type {Readonly<Record<string, { script: string, output: string, inputs?: readonly string[], failure: string }>>}
 */
const BUILDS = {
  page: {
    script: 'build-page.js',
    output: 'web/dist',
    // `npm run check:imports` limits what the web UI imports from src.
    inputs: [
      'web/*',
      'web/src/**',
      'src/http/schemas.ts',
      'src/http/page/web-page.ts',
      'scripts/build-page.js',
      'scripts/page-budget.js',
      'scripts/api-reference.js',
    ],
    failure: 'The web UI could not be built, or exceeds a size budget.',
  },
  service: {
    script: 'build-service.js',
    output: 'dist',
    inputs: ['src/**', 'scripts/build-service.js', 'scripts/external-packages.js'],
    failure: 'The service could not be built.',
  },
  package: {
    script: 'build-package.js',
    output: 'package',
    failure: 'The package could not be built.',
  },
};

const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : Object.keys(BUILDS)) {
  if (!runBuild(name)) {
    process.exitCode = 1;
    break;
  }
  if (name === 'service') writeCommit();
}
if (process.exitCode === undefined) fillCodeCache();

/** Stores the compiled code of the service, if both are built and it is not stored. A failure only makes starts slower. */
function fillCodeCache() {
  const isBuilt = ['service', 'page'].every((name) => fs.existsSync(join(ROOT, BUILDS[name]?.output ?? '')));
  if (!isBuilt || fs.existsSync(CODE_CACHE)) return;
  spawnSync(process.execPath, [join(ROOT, 'bin/fill-code-cache.js')], { stdio: 'inherit' });
}

/**
 * Runs a build unless its output is current. Returns whether it succeeded.
 *
 * @param {string} name
 */
function runBuild(name) {
  const build = BUILDS[name];
  if (build === undefined) {
    process.stderr.write(`There is no build "${name}". Builds: ${Object.keys(BUILDS).join(', ')}.\n`);
    return false;
  }
  const { script, output, inputs, failure } = build;
  const stamp = join(STAMPS, `${name}.json`);
  const before = inputs && hashInputs([...inputs, ...SHARED_INPUTS]);
  if (before !== undefined && readIfPresent(stamp) === JSON.stringify([before, hashOutput(output)])) return true;
  const { status } = spawnSync(process.execPath, [join(ROOT, 'scripts', script)], { stdio: 'inherit' });
  if (status !== 0) {
    process.stderr.write(`${failure}\n`);
    return false;
  }
  // Of the previous build, whose files had other names.
  if (name === 'service') fs.rmSync(CODE_CACHE, { recursive: true, force: true });
  // Inputs that changed during the build have another hash, so the next run builds again.
  if (before !== undefined) writeStamp(stamp, JSON.stringify([before, hashOutput(output)]));
  return true;
}

/**
 * Returns a hash of the names and contents of the input files, and of the Node.js version.
 *
 * @param {readonly string[]} patterns
 */
function hashInputs(patterns) {
  const hash = createHash('sha256').update(process.version);
  for (const file of fs.globSync([...patterns], { cwd: ROOT }).toSorted()) {
    const path = join(ROOT, file);
    if (fs.statSync(path).isFile()) hash.update(`\0${file}\0`).update(fs.readFileSync(path));
  }
  return hash.digest('hex');
}

/** Writes the commit of the service, with the suffix of `git describe --dirty` if a file differs from it. */
function writeCommit() {
  const { commit, changed } = readCommit(ROOT);
  const content = `${JSON.stringify({ commit: commit && changed ? `${commit}-dirty` : commit })}\n`;
  const file = join(ROOT, COMMIT_FILE);
  if (readIfPresent(file) === content) return;
  // A service that starts meanwhile must not read half of it.
  const temporary = join(ROOT, `.build-${process.pid}.json`);
  fs.writeFileSync(temporary, content);
  fs.renameSync(temporary, file);
}

/**
 * Returns a hash of the names, sizes and modification times of the files in a folder, which finds files that were
 * removed, added or edited after the build. Ignores the file with the commit.
 *
 * @param {string} folder
 */
function hashOutput(folder) {
  const hash = createHash('sha256');
  // Patterns such as "**" skip hidden files, and the web UI needs web/dist/.vite.
  const files = fs.existsSync(join(ROOT, folder)) ? fs.readdirSync(join(ROOT, folder), { recursive: true }) : [];
  for (const file of files.map(String).toSorted()) {
    if (join(folder, file) === join(COMMIT_FILE)) continue;
    const { size, mtimeMs } = fs.statSync(join(ROOT, folder, file));
    hash.update(`\0${file}\0${size}\0${mtimeMs}`);
  }
  return hash.digest('hex');
}

/** @param {string} file */
function readIfPresent(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * @param {string} file
 * @param {string} content
 */
function writeStamp(file, content) {
  try {
    fs.mkdirSync(dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  } catch {
    // A read-only checkout has no stamps, and builds every time.
  }
}
