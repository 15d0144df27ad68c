import type { AccessFile } from '../access/access-file.ts';
import { type Grant, isName, PERMISSIONS, type Permission, type Subject, subjectKey } from '../access/policy.ts';
import { isStoreError, quoted } from '../model/error.ts';
import { type FolderPath, parseFolder } from '../model/path.ts';
import { EXIT_CODES } from '../system.ts';
import { type Edit, editAccessFile, loadAccessFile } from './access-file-editor.ts';
import {
  accessFileOf,
  CommandFailed,
  defineCommand,
  FILE_OPTION,
  type FileOptions,
  JSON_OPTION,
  printable,
  toJson,
  toTable,
  UsageError,
} from './command.ts';
import { findUser } from './users.ts';

const FOLDER_ARGUMENT = { '<folder>': 'Folder, such as / or photos/' };
const SUBJECT_ARGUMENT = { '<subject>': 'user:NAME, group:NAME, signed-in or everyone' };

/** `holdall grant list`: lists the grants of the access file. */
export const GRANT_LIST = defineCommand<FileOptions>({
  name: 'grant list',
  summary: 'List the grants in the access file',
  options: [FILE_OPTION, JSON_OPTION],
  examples: { 'holdall grant list': 'List who has which permissions in which folder' },
  async run({ options, loadEnvironment, print }) {
    const { grants } = await loadAccessFile(await accessFileOf(options.file, { loadEnvironment }));
    if (options.json) {
      print(toJson(grants.map(describeGrant)));
      return EXIT_CODES.ok;
    }
    const rows = grants.map(({ folder, to, permissions }) => [
      printable(`/${folder}`),
      printable(formatSubject(to)),
      permissions.join(',') || NO_PERMISSIONS,
    ]);
    print(toTable(['FOLDER', 'SUBJECT', 'PERMISSIONS'], rows));
    return EXIT_CODES.ok;
  },
});

/** `holdall grant set`: adds a grant, or replaces the permissions of an existing one. */
export const GRANT_SET = defineCommand<FileOptions>({
  name: 'grant set',
  arguments: {
    ...FOLDER_ARGUMENT,
    ...SUBJECT_ARGUMENT,
    '<permissions>': `${PERMISSIONS.join(',')} or a part of them; "none" denies access`,
  },
  summary: 'Set the permissions of a subject in a folder',
  details:
    'The permissions apply to everything below the folder, unless a grant of a deeper folder or of a more specific subject overrides them.',
  options: [FILE_OPTION, JSON_OPTION],
  examples: {
    'holdall grant set / user:ann read,write,manage': 'Make a user an administrator',
    'holdall grant set /photos/ group:family read,write': 'Let a group read and add photos',
    'holdall grant set /photos/private/ everyone none': 'Hide a folder',
  },
  async run({ args: [folderText = '', subjectText = '', list = ''], options, loadEnvironment, print }) {
    const grant = { folder: readFolder(folderText), to: readSubject(subjectText), permissions: readPermissions(list) };
    const file = await accessFileOf(options.file, { loadEnvironment });
    await editAccessFile(file, (access) => planGrant(grant, access, file));
    print(
      options.json
        ? toJson(describeGrant(grant))
        : `Set ${list} for ${quoted(formatSubject(grant.to))} in ${quoted(`/${grant.folder}`)} in ${file}.\n`,
    );
    return EXIT_CODES.ok;
  },
});

/** `holdall grant remove`: removes a grant from the access file. */
export const GRANT_REMOVE = defineCommand<FileOptions>({
  name: 'grant remove',
  arguments: { ...FOLDER_ARGUMENT, ...SUBJECT_ARGUMENT },
  summary: 'Remove a grant from the access file',
  options: [FILE_OPTION, JSON_OPTION],
  examples: { 'holdall grant remove /photos/ group:family': 'Remove the grant of a group' },
  async run({ args: [folderText = '', subjectText = ''], options, loadEnvironment, print }) {
    const [folder, to] = [readFolder(folderText), readSubject(subjectText)];
    const file = await accessFileOf(options.file, { loadEnvironment });
    const described = `for ${quoted(formatSubject(to))} in ${quoted(`/${folder}`)}`;
    let removed: Grant | undefined;
    await editAccessFile(file, ({ grants }) => {
      const index = indexOfGrant(grants, { folder, to });
      removed = grants[index];
      if (!removed) throw new CommandFailed(`${file} has no grant ${described}. List the grants: holdall grant list`);
      return [{ path: ['grants', index], value: undefined }];
    });
    print(options.json && removed ? toJson(describeGrant(removed)) : `Removed the grant ${described} from ${file}.\n`);
    return EXIT_CODES.ok;
  },
});

/** Returns the edits that add a grant, or replace the permissions of the grant for the same folder and subject. */
function planGrant({ folder, to, permissions }: Grant, access: AccessFile, file: string): Edit[] {
  if (to.kind === 'person') findUser(to.name, access, file);
  const index = indexOfGrant(access.grants, { folder, to });
  if (index >= 0) return [{ path: ['grants', index, 'rights'], value: permissions }];
  const value = { folder: `/${folder}`, to: toJsonSubject(to), rights: permissions };
  return [{ path: ['grants', -1], value }];
}

function indexOfGrant(grants: readonly Grant[], { folder, to }: Pick<Grant, 'folder' | 'to'>): number {
  return grants.findIndex((grant) => grant.folder === folder && subjectKey(grant.to) === subjectKey(to));
}

/** Returns a subject in the form of the access file. */
function toJsonSubject(to: Subject): unknown {
  return 'name' in to ? { [to.kind]: to.name } : to.kind;
}

/** Returns a grant for programs. */
function describeGrant({ folder, to, permissions }: Grant): object {
  return { folder: `/${folder}`, subject: formatSubject(to), permissions };
}

/** Returns a subject in the form of the command line. */
function formatSubject(to: Subject): string {
  if (to.kind === 'person') return `user:${to.name}`;
  return to.kind === 'group' ? `group:${to.name}` : to.kind;
}

function readSubject(text: string): Subject {
  if (text === 'everyone' || text === 'signed-in') return { kind: text };
  const [, kind, name] = /^(user|group):(.*)$/s.exec(text) ?? [];
  if (kind === undefined || !isName(name)) {
    throw new UsageError(`The subject must be user:NAME, group:NAME, signed-in or everyone, not ${quoted(text)}.`);
  }
  return { kind: kind === 'user' ? 'person' : 'group', name };
}

/** Returns the folder of an argument. Throws `UsageError`. */
export function readFolder(text: string): FolderPath {
  // The empty value of a shell variable would otherwise grant access to everything.
  if (text === '') throw new UsageError('The folder is empty. Use "/" for all files.');
  try {
    return parseFolder(text);
  } catch (error) {
    if (isStoreError(error)) throw new UsageError(error.message);
    throw error;
  }
}

/** The text for an empty list of permissions. */
const NO_PERMISSIONS = 'none';

/** Returns permissions, or none for `none`. Throws `UsageError`. */
export function readPermissions(text: string): Permission[] {
  if (text === NO_PERMISSIONS) return [];
  const names = text.split(',');
  const permissions = PERMISSIONS.filter((permission) => names.includes(permission));
  if (permissions.length !== names.length) {
    throw new UsageError(
      `The permissions must be ${PERMISSIONS.join(', ')}, separated by commas, or "${NO_PERMISSIONS}", not ${quoted(text)}.`,
    );
  }
  return permissions;
}
