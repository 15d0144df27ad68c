import type { AccessFile } from '../access/access-file.ts';
import type { Identity } from '../access/identity.ts';
import type { Decision, Grant } from '../access/policy.ts';
import type { Right } from '../access/rights.ts';
import { quoted } from '../domain/error.ts';
import { type FilePath, type FolderPath, isFolder } from '../domain/path.ts';

/** Whether somebody has a right somewhere. */
export interface Question {
  readonly who: Identity | undefined;
  readonly right: Right;
  readonly path: FilePath | FolderPath;
  /** Whether it is about all that is below a folder, too. */
  readonly throughout: boolean;
  /** The place in words. */
  readonly where: string;
}

/** Whether somebody has a right, and the grants that say so, in lines of text. */
export function explainRight(
  access: AccessFile,
  { who, right, path, throughout, where }: Question,
): { readonly allowed: boolean; readonly lines: readonly string[] } {
  const { policy } = access;
  const decision = policy.decide(who, right, path);
  const lines = [
    `"${right}" is ${decision.allowed ? 'given' : 'not given'} ${where}:`,
    ...describeDecision(access, right, decision),
  ];
  if (!throughout || !isFolder(path) || !decision.allowed) return { allowed: decision.allowed, lines };
  const closed = policy.namedBelow(who, path).filter((folder) => !policy.may(who, right, folder));
  for (const folder of closed) {
    lines.push(`"${right}" is needed in all of it, and is not given in ${quoted(`/${folder}`)}:`);
    lines.push(...describeDecision(access, right, policy.decide(who, right, folder)));
  }
  return { allowed: closed.length === 0, lines };
}

function describeDecision(access: AccessFile, right: Right, { holding, overruled }: Decision): string[] {
  const name = (grant: Grant) => `line ${access.lineOf(grant)}`;
  if (holding.length === 0) return ['  no grant is for them there, and what no grant gives is not allowed.'];
  const decides = holding.map((grant) => {
    const verdict = grant.rights.includes(right) ? 'gives it' : 'holds, and does not give it';
    return `  ${name(grant)}, ${describeGrant(grant)}: ${verdict}.`;
  });
  const loses = overruled.map(({ grant, by }) => {
    const why = by.to.kind === grant.to.kind ? 'whose folder is deeper' : `which is closer: ${describeSubject(by)}`;
    return `  ${name(grant)}, ${describeGrant(grant)}: overruled by ${name(by)}, ${why}.`;
  });
  return [...decides, ...loses];
}

function describeGrant(grant: Grant): string {
  const rights = grant.rights.length === 0 ? 'nothing' : grant.rights.join(', ');
  return `${quoted(`/${grant.folder}`)} ${describeSubject(grant)} (${rights})`;
}

function describeSubject({ to }: Grant): string {
  switch (to.kind) {
    case 'person':
    case 'group':
      return `to the ${to.kind} ${quoted(to.name)}`;
    case 'signed-in':
      return 'to all who are signed in';
    case 'everyone':
      return 'to everyone';
  }
}
