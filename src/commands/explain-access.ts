import { type AccessFile, parseAccessFile } from '../access/access-file.ts';
import { AccessFileError } from '../access/access-file-error.ts';
import { readAccessFile } from '../access/access-file-text.ts';
import type { Identity } from '../access/identity.ts';
import { isStoreError, quoted } from '../domain/error.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, parseFile, parseFolder, ROOT } from '../domain/path.ts';
import { type CommandContext, CommandFailed, readArguments, UsageError } from './command.ts';
import { explainRight, type Question } from './explanation.ts';
import { NEEDS, sayVerb, type Verb } from './needs.ts';

/**
 * `holdall access explain NAME VERB PATH`: whether somebody may do something, and by which grants. 0 when they may, 1
 * when they may not, and 2 when that can't be told.
 */
export async function explainAccess({ args, environment, print }: CommandContext): Promise<number> {
  const { values, positionals } = readArguments('access explain', args, {
    options: { file: { type: 'string' }, group: { type: 'string', multiple: true } },
    names: ['NAME', 'VERB', 'PATH'],
  });
  const [name = '', verb = '', text = ''] = positionals;
  if (!isVerb(verb)) throw usage(`VERB must be one of ${Object.keys(NEEDS).join(', ')}.`);
  const path = readPath(text, verb);
  const file = values.file ?? environment['ACCESS_FILE'];
  if (!file) throw usage('--file is needed, where ACCESS_FILE is not set.');
  const access = await readAccess(file);
  const who = identify(name, values.group ?? [], access);

  if (path === ROOT && NEEDS[verb].notToRoot) {
    print(`Nobody may ${sayVerb(verb, path)} "/", whatever they are given: the service refuses that of the root.\n`);
    return 1;
  }
  const explained = questionsOf(verb, path).map((question) => explainRight(access, { who, ...question }));
  const isAllowed = explained.every(({ allowed }) => allowed);
  const subject = who === undefined ? 'Somebody who is not signed in' : quoted(who.name);
  print(`${subject} ${isAllowed ? 'may' : 'may not'} ${sayVerb(verb, path)} ${quoted(`/${path}`)}.\n`);
  for (const { lines } of explained) print(lines.map((line) => `  ${line}\n`).join(''));
  if (verb === 'list' && isFolder(path) && !isAllowed && access.policy.isVisible(who, path)) {
    print('  Its listing shows nothing but the folders on the way to what they may do.\n');
  }
  return isAllowed ? 0 : 1;
}

const isVerb = (text: string): text is Verb => Object.hasOwn(NEEDS, text);

/** A file or, with a `/` at its end, a folder; what is done to folders alone needs no `/`. */
function readPath(text: string, verb: Verb): FilePath | FolderPath {
  const isOfFolder = NEEDS[verb].file === undefined || text === '' || text.endsWith('/');
  if (isOfFolder && NEEDS[verb].folder === undefined) throw usage(`PATH must be that of a file for "${verb}".`);
  try {
    return isOfFolder ? parseFolder(text) : parseFile(text);
  } catch (error) {
    if (isStoreError(error)) throw usage(error.message);
    throw error;
  }
}

/** What has to be given, and where. */
function questionsOf(verb: Verb, path: FilePath | FolderPath): Omit<Question, 'who'>[] {
  const { file = [], folder = [], throughout = false, beside = [] } = NEEDS[verb];
  if (!isFolder(path)) return file.map((right) => ({ right, path, throughout, where: 'there' }));
  return [
    ...folder.map((right) => ({ right, path, throughout, where: 'there' })),
    ...beside.map((right) => {
      const parent = parentOf(path);
      return {
        right,
        path: parent,
        throughout: false,
        where: `in ${quoted(`/${parent}`)}, where the new name will be`,
      };
    }),
  ];
}

async function readAccess(file: string): Promise<AccessFile> {
  try {
    return parseAccessFile((await readAccessFile(file)).text, file);
  } catch (error) {
    // 1 would say that something is not allowed.
    if (error instanceof AccessFileError) throw new CommandFailed(error.message, { code: 2 });
    throw error;
  }
}

/** Somebody by name; undefined for `everyone`, who is not signed in. */
function identify(name: string, groups: readonly string[], { policy }: AccessFile): Identity | undefined {
  if (name === 'everyone') {
    if (groups.length > 0) throw usage('--group is for somebody who is signed in.');
    return undefined;
  }
  // Those whom a provider tells of need not be in the file.
  if (policy.person(name) || groups.length > 0) return { name, groups };
  throw usage(`There is no ${quoted(name)} in the file. For somebody whom a provider tells of, say a --group.`);
}

function usage(problem: string): UsageError {
  return new UsageError('access explain', problem);
}
