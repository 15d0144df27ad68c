import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { declaredNeeds } from './declared.ts';
import { recordedSeconds } from './order.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Files that change the process that they run in, measure it, or read images of formats that a drawing process blocks. */
const OWN_PROCESS: readonly string[] = [
  'tests/attacks/amplification.test.ts',
  'tests/media/details.test.ts',
  'tests/stores/disk-new-folders.test.ts',
  'tests/thumbnails/loaders.test.ts',
  'tests/web/models/upload-model.test.ts',
];

/**
 * Seconds of tests in one process, as recorded: with a process, a browser and servers for each file, so that sharing them takes
 * about half. With more, cores would be idle at the end of a run.
 */
const MAX_SECONDS = 110;

/** Seconds of a file without a recorded duration: it takes less than a second, or it is new. */
const UNRECORDED_SECONDS = 0.5;

/** The test processes of a run. */
export interface Processes {
  /** The module of each process, with the longest first: a test file, or a generated module that imports several. */
  readonly modules: readonly string[];
  /** Removes the generated modules. */
  remove(): void;
}

/**
 * Files that run in one process. Those without needs are apart, so that `assertDeclared` finds a file that declares none, and
 * those of the web UI are of one folder.
 */
interface Group {
  readonly key: string;
  readonly files: string[];
  seconds: number;
}

/**
 * Assigns test files to processes. Files that share a process also share the start of Node.js, the loaded modules and
 * the browser, which takes longer than the tests of most files.
 */
export function shareProcesses(files: readonly string[]): Processes {
  const folder = mkdtempSync(join(tmpdir(), 'holdall-tests-'));
  const groups = group(files).toSorted((a, b) => b.seconds - a.seconds);
  return {
    modules: groups.map(({ files: together }, index) => {
      const [file = '', ...others] = together;
      return others.length === 0 ? file : writeModule(folder, index, together);
    }),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function group(files: readonly string[]): Group[] {
  const secondsOf = recordedSeconds();
  const groups: Group[] = [];
  for (const file of files) {
    const seconds = secondsOf(file) ?? UNRECORDED_SECONDS;
    const shown = relative(ROOT, file);
    const key = OWN_PROCESS.includes(shown) ? shown : `${pageFolderOf(shown)} ${declaredNeeds(file).length > 0}`;
    const open = groups.find((each) => each.key === key && each.seconds + seconds <= MAX_SECONDS);
    if (open) {
      open.files.push(file);
      open.seconds += seconds;
    } else {
      groups.push({ key, files: [file], seconds });
    }
  }
  return groups;
}

/** Returns the folder of a test of the web UI: these tests define globals of browsers. Returns undefined for all others. */
const pageFolderOf = (file: string) => (file.startsWith('tests/web/') ? dirname(file) : undefined);

/** Writes a module that imports the files, and declares what they need for `assertDeclared`. Returns its path. */
function writeModule(folder: string, index: number, files: readonly string[]): string {
  const [first = ''] = files;
  const name = `${relative(ROOT, dirname(first)).replaceAll('/', '-')}-${index + 1}.test.mjs`;
  const needs = [...new Set(files.flatMap(declaredNeeds))].map((need) => `'${need}'`);
  const lines = [
    ...files.map((file) => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)};`),
    `export const needs = [${needs.join(', ')}];`,
  ];
  const path = join(folder, name);
  writeFileSync(path, lines.join('\n'));
  return path;
}
