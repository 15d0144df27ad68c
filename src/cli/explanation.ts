import type { AccessFile } from '../access/access-file.ts';
import type { Decision, Grant, Identity, Permission } from '../access/policy.ts';
import { quoted } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../model/path.ts';

/** Whether a user may do something, and why. */
interface Explanation {
  readonly allowed: boolean;
  readonly summary: string;
  readonly reasons: readonly string[];
}

/** Explains whether a user may do something with a path. */
export function explainVerb(
  access: AccessFile,
  { user, verb, path }: { user: Identity | undefined; verb: Verb; path: FilePath | FolderPath },
): Explanation {
  if (path === ROOT && REQUIREMENTS[verb].notOnRoot) {
    const summary = `No user may ${describeVerb(verb, path)} "/": Holdall never allows this on the root.`;
    return { allowed: false, summary, reasons: [] };
  }
  const explained = requiredPermissions(verb, path).map((query) => explainPermission(access, { user, ...query }));
  const allowed = explained.every((each) => each.allowed);
  const subject = user === undefined ? 'An anonymous user' : quoted(user.name);
  const summary = `${subject} ${allowed ? 'may' : 'may not'} ${describeVerb(verb, path)} ${quoted(`/${path}`)}.`;
  const reasons = explained.flatMap(({ lines }) => lines);
  if (verb === 'list' && isFolder(path) && !allowed && access.policy.isVisible(user, path)) {
    reasons.push('The listing shows only the folders that lead to accessible folders.');
  }
  return { allowed, summary, reasons };
}

/** Returns the permissions that an operation needs, and the paths where it needs them. */
function requiredPermissions(verb: Verb, path: FilePath | FolderPath): Omit<PermissionQuery, 'user'>[] {
  const { file = [], folder = [], throughout = false, inParent = [] } = REQUIREMENTS[verb];
  if (!isFolder(path)) return file.map((permission) => ({ permission, path, throughout, where: 'there' }));
  return [
    ...folder.map((permission) => ({ permission, path, throughout, where: 'there' })),
    ...inParent.map((permission) => {
      const parent = parentOf(path);
      return {
        permission,
        path: parent,
        throughout: false,
        where: `in ${quoted(`/${parent}`)}, which will contain the new name`,
      };
    }),
  ];
}

/** A query whether a user has a permission on a path. */
interface PermissionQuery {
  readonly user: Identity | undefined;
  readonly permission: Permission;
  readonly path: FilePath | FolderPath;
  /** Whether the permission is also needed everywhere below the folder. */
  readonly throughout: boolean;
  /** Describes the path, for the output. */
  readonly where: string;
}

/** Decides whether a user has a permission, and lists the grants that decide it as lines of text. */
function explainPermission(
  access: AccessFile,
  { user, permission, path, throughout, where }: PermissionQuery,
): { readonly allowed: boolean; readonly lines: readonly string[] } {
  const { policy } = access;
  const decision = policy.decide(user, permission, path);
  const lines = [
    `"${permission}" is ${decision.allowed ? 'granted' : 'not granted'} ${where}:`,
    ...describeDecision(access, permission, decision),
  ];
  if (!throughout || !isFolder(path) || !decision.allowed) return { allowed: decision.allowed, lines };
  const denied = policy.grantFoldersBelow(user, path).filter((folder) => !policy.allows(user, permission, folder));
  for (const folder of denied) {
    lines.push(`"${permission}" is required for the whole folder, but not granted in ${quoted(`/${folder}`)}:`);
    lines.push(...describeDecision(access, permission, policy.decide(user, permission, folder)));
  }
  return { allowed: denied.length === 0, lines };
}

function describeDecision(access: AccessFile, permission: Permission, { effective, overridden }: Decision): string[] {
  const name = (grant: Grant) => `line ${access.lineOf(grant)}`;
  if (effective.length === 0) return ['  no grant applies. Without a matching grant, access is denied.'];
  const effectiveLines = effective.map((grant) => {
    const verdict = grant.permissions.includes(permission) ? 'grants it' : 'applies, but does not grant it';
    return `  ${name(grant)}, ${describeGrant(grant)}: ${verdict}.`;
  });
  const overriddenLines = overridden.map(({ grant, by }) => {
    const why =
      by.to.kind === grant.to.kind ? 'whose folder is deeper' : `which is more specific: ${describeSubject(by)}`;
    return `  ${name(grant)}, ${describeGrant(grant)}: overridden by ${name(by)}, ${why}.`;
  });
  return [...effectiveLines, ...overriddenLines];
}

function describeGrant(grant: Grant): string {
  const permissions = grant.permissions.length === 0 ? 'nothing' : grant.permissions.join(', ');
  return `${quoted(`/${grant.folder}`)} ${describeSubject(grant)} (${permissions})`;
}

function describeSubject({ to }: Grant): string {
  switch (to.kind) {
    case 'person':
      return `to the user ${quoted(to.name)}`;
    case 'group':
      return `to the group ${quoted(to.name)}`;
    case 'signed-in':
      return 'to all signed-in users';
    case 'everyone':
      return 'to everyone';
  }
}

/** The permissions that an operation needs on a file or a folder. */
export interface Requirement {
  /** Undefined if the operation does not apply to files. */
  readonly file?: readonly Permission[];
  readonly folder?: readonly Permission[];
  /** Whether the permissions are also needed everywhere below the folder. */
  readonly throughout?: true;
  /** Additional permissions for a folder, needed in its parent folder, which will contain the new name. */
  readonly inParent?: readonly Permission[];
  /** Whether the operation is denied on the root, whatever the grants. */
  readonly notOnRoot?: true;
}

/** Properties of operations on whole folders. */
const WHOLE_FOLDER = { throughout: true, notOnRoot: true } as const;

/** Permissions and operations by verb, as in docs/reference/access-file.md. A copy or move has one verb for each end. */
const requirements = {
  read: { file: ['read'], folder: ['read'] },
  write: { file: ['write'], folder: ['write'] },
  manage: { file: ['manage'], folder: ['manage'] },
  list: { folder: ['read'] },
  fetch: { file: ['read'] },
  upload: { file: ['write'], folder: ['write'] },
  replace: { file: ['write', 'manage'], folder: ['write', 'manage'], ...WHOLE_FOLDER },
  create: { folder: ['write'], notOnRoot: true },
  delete: { file: ['manage'], folder: ['manage'], ...WHOLE_FOLDER },
  rename: { file: ['manage'], folder: ['read', 'manage'], inParent: ['write'], ...WHOLE_FOLDER },
  'copy-from': { file: ['read'], folder: ['read'], ...WHOLE_FOLDER },
  'copy-to': { file: ['write'], folder: ['write'], ...WHOLE_FOLDER },
  'move-from': { file: ['read', 'manage'], folder: ['read', 'manage'], ...WHOLE_FOLDER },
  'move-to': { file: ['write'], folder: ['write'], ...WHOLE_FOLDER },
} satisfies Record<string, Requirement>;

export type Verb = keyof typeof requirements;

export const REQUIREMENTS: Readonly<Record<Verb, Requirement>> = requirements;

/** Returns a verb with its object, to precede a path: `copy to the folder`. */
function describeVerb(verb: Verb, path: FilePath | FolderPath): string {
  if (!isFolder(path)) return `${VERB_PHRASES[verb] ?? verb} the file`;
  return `${FOLDER_VERB_PHRASES[verb] ?? VERB_PHRASES[verb] ?? verb} the folder`;
}

const VERB_PHRASES: Partial<Readonly<Record<Verb, string>>> = {
  'copy-from': 'copy',
  'copy-to': 'copy something to',
  'move-from': 'move',
  'move-to': 'move something to',
};

const FOLDER_VERB_PHRASES: typeof VERB_PHRASES = { write: 'write to', upload: 'upload to' };
