import type { AccessFile } from '../access/access-file.ts';
import { AccessFileError } from '../access/access-file-syntax.ts';
import type { Identity } from '../access/policy.ts';
import { isStoreError, quoted } from '../model/error.ts';
import { type FilePath, type FolderPath, parseFile, parseFolder } from '../model/path.ts';
import { EXIT_CODES } from '../system.ts';
import { loadAccessFile } from './access-file-editor.ts';
import {
  accessFileOf,
  defineCommand,
  FILE_OPTION,
  type FileOptions,
  JSON_OPTION,
  type JsonOptions,
  toJson,
  UsageError,
} from './command.ts';
import { explainVerb, REQUIREMENTS, type Verb } from './explanation.ts';

/** `holdall access check`: validates an access file, and prints every mistake in it. */
export const ACCESS_CHECK = defineCommand<JsonOptions>({
  name: 'access check',
  arguments: { '[file]': 'Access file (default: ACCESS_FILE)' },
  summary: 'Report every mistake in an access file',
  options: [JSON_OPTION],
  examples: { 'holdall access check access.json': 'Check a file before the service reads it' },
  async run({ args, options, print, loadEnvironment }) {
    const file = await accessFileOf(args[0], { loadEnvironment });
    try {
      const { users, grants, warnings } = await loadAccessFile(file);
      const tokens = users.flatMap((user) => user.tokens).length;
      const counts = { users: users.length, tokens, grants: grants.length };
      print(options.json ? toJson({ file, valid: true, ...counts, warnings }) : describeFile(file, counts, warnings));
      return EXIT_CODES.ok;
    } catch (error) {
      if (!options.json || !(error instanceof AccessFileError)) throw error;
      print(toJson({ file, valid: false, problems: error.problems }));
      return EXIT_CODES.configuration;
    }
  },
});

interface Counts {
  readonly users: number;
  readonly tokens: number;
  readonly grants: number;
}

function describeFile(file: string, { users, tokens, grants }: Counts, warnings: readonly string[]): string {
  const counts = [count(users, 'user'), count(tokens, 'token'), count(grants, 'grant')];
  return [`${file} is valid: ${counts.join(', ')}.\n`, ...warnings.map((note) => `  ${note}\n`)].join('');
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

interface ExplainOptions extends FileOptions {
  readonly group: readonly string[];
}

const VERBS = Object.keys(REQUIREMENTS);

/** `holdall access explain`: prints whether a user can do something, and the grants that decide it. */
export const ACCESS_EXPLAIN = defineCommand<ExplainOptions>({
  name: 'access explain',
  arguments: {
    '<user>': 'Username, or "everyone" for an anonymous user',
    '<verb>': `One of ${VERBS.join(', ')}`,
    '<path>': 'Path of a file, or of a folder with a "/" at the end',
  },
  summary: 'Explain whether a user may do something',
  details: 'Prints the grants that decide. Exit codes: 0 if allowed, 1 if denied.',
  options: [
    { flags: '-g, --group <group>', help: 'Group that the identity provider reports', isRepeatable: true },
    FILE_OPTION,
    JSON_OPTION,
  ],
  examples: {
    'holdall access explain ann fetch photos/a.jpg': 'Explain a download',
    'holdall access explain everyone list / --file access.json': 'Explain what an anonymous user can list',
  },
  async run({ args, options, print, loadEnvironment }) {
    const [name = '', verb = '', text = ''] = args;
    if (!isVerb(verb)) throw new UsageError(`The verb must be one of ${VERBS.join(', ')}, not ${quoted(verb)}.`);
    const path = readPath(text, verb);
    const access = await loadAccessFile(await accessFileOf(options.file, { loadEnvironment }));
    const user = identify(name, options.group, access);
    const explanation = explainVerb(access, { user, verb, path });
    if (options.json) {
      print(toJson({ user: user?.name ?? null, verb, path: `/${path}`, ...explanation }));
    } else {
      const { summary, reasons } = explanation;
      print([summary, ...reasons.map((line) => `  ${line}`)].map((line) => `${line}\n`).join(''));
    }
    return explanation.allowed ? EXIT_CODES.ok : EXIT_CODES.failed;
  },
});

const isVerb = (text: string): text is Verb => Object.hasOwn(REQUIREMENTS, text);

/** Parses a path. A folder ends with `/`, except for verbs that apply only to folders. */
function readPath(text: string, verb: Verb): FilePath | FolderPath {
  const isOfFolder = REQUIREMENTS[verb].file === undefined || text === '' || text.endsWith('/');
  if (isOfFolder && REQUIREMENTS[verb].folder === undefined)
    throw new UsageError(`The path must be a file for "${verb}".`);
  try {
    return isOfFolder ? parseFolder(text) : parseFile(text);
  } catch (error) {
    if (isStoreError(error)) throw new UsageError(error.message);
    throw error;
  }
}

/** Returns the identity of a user; undefined for `everyone`, the anonymous user. */
function identify(name: string, groups: readonly string[], { policy }: AccessFile): Identity | undefined {
  if (name === 'everyone') {
    if (groups.length > 0) throw new UsageError('--group can\'t be combined with "everyone".');
    return undefined;
  }
  // Users of an identity provider need not be in the file.
  if (policy.userEntry(name) || groups.length > 0) return { name, groups };
  throw new UsageError(`The file has no user ${quoted(name)}. For a user of the identity provider, pass --group.`);
}
