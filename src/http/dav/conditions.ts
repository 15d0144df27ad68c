import { quoted } from '../../model/error.ts';
import { parentOf } from '../../model/path.ts';
import type { WriteCondition } from '../../model/store.ts';
import { quoteEtag } from '../preconditions.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';
import { type IfCondition, type IfList, uuidOf } from './if-header.ts';
import { findFile, pathOf, type Target } from './targets.ts';

/**
 * Throws `AccessDenied` for an anonymous user without any permission, also in a folder that only leads to folders for everyone.
 * Most clients send credentials only after a 401, and would otherwise never show the other folders. Called before the body is
 * read, because parsing XML costs time.
 */
export function requireCredentials({ files, holder, target }: DavContext, action: string): void {
  if (holder.user !== undefined || files.hasPermission(pathOf(target)) || files.hasPermission(target.folder)) return;
  files.requireRead(action, target.folder);
}

/**
 * Throws 412 if the header `If` does not hold. Returns the condition on the file of the request that made it hold, so that a
 * write can check it again at its end.
 */
export async function requireIf(context: DavContext): Promise<WriteCondition | undefined> {
  if (context.ifLists.length === 0) return undefined;
  for (const list of context.ifLists) {
    const target = list.url === undefined ? context.target : parseUrl(context, list.url);
    const facts = new TargetFacts(context, target);
    if (!(await facts.hold(list))) continue;
    return target === context.target || sameTarget(target, context.target) ? facts.condition : undefined;
  }
  throw new DavError(412, 'No list of conditions in the header If holds.');
}

/** Returns the condition that holds if two others do. Throws 412 if they exclude each other. */
export function bothOf(
  first: WriteCondition | undefined,
  second: WriteCondition | undefined,
): WriteCondition | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const isSame = typeof first === 'object' && typeof second === 'object' && first.etag === second.etag;
  if (isSame || first === second) return first;
  throw new DavError(412, 'The header If and the other conditions of the request exclude each other.');
}

/** Returns the target of a URL; undefined for a URL outside the WebDAV of this service. */
function parseUrl({ environment, request }: DavContext, url: string): Target | undefined {
  try {
    return environment.urls.parse(url, request);
  } catch {
    return undefined;
  }
}

const sameTarget = (left: Target | undefined, right: Target) => left?.folder === right.folder;

/** What is known about the file or folder that a list of conditions names. */
class TargetFacts {
  readonly #context: DavContext;
  readonly #target: Target | undefined;
  #etag: Promise<string | undefined> | undefined;
  #tokens: Promise<ReadonlySet<string>> | undefined;
  #condition: WriteCondition | undefined;

  constructor(context: DavContext, target: Target | undefined) {
    this.#context = context;
    this.#target = target;
  }

  /** The ETag that conditions compared and found. */
  get condition(): WriteCondition | undefined {
    return this.#condition;
  }

  async hold({ conditions }: IfList): Promise<boolean> {
    for (const condition of conditions) {
      if ((await this.#matches(condition)) === condition.isNegated) return false;
    }
    return true;
  }

  async #matches({ kind, value, isNegated }: IfCondition): Promise<boolean> {
    if (kind === 'token') {
      const token = uuidOf(value);
      // "DAV:no-lock" and other URIs are no lock tokens. Nothing would await the query for them, which can fail.
      if (token === undefined) return false;
      this.#tokens ??= this.#findTokens();
      return (await this.#tokens).has(token);
    }
    this.#etag ??= this.#findEtag();
    const etag = await this.#etag;
    const isMatch = etag !== undefined && value === quoteEtag(etag);
    if (isMatch && !isNegated) this.#condition = { etag };
    return isMatch;
  }

  async #findTokens(): Promise<ReadonlySet<string>> {
    if (!this.#target) return new Set();
    const { file, folder } = this.#target;
    const { locks } = this.#context.environment.dav;
    // A URL without a trailing slash can name a folder.
    const paths = file === undefined ? [folder] : [file, folder];
    const found = await Promise.all(paths.map((path) => locks.covering(path)));
    return new Set(found.flat().map(({ token }) => token));
  }

  async #findEtag(): Promise<string | undefined> {
    const { files } = this.#context;
    const file = this.#target?.file;
    if (file === undefined || !files.canRead(file)) return undefined;
    return (await findFile(files, file))?.etag;
  }
}

/** Throws 409 if the parent folder of a new file or folder does not exist, as far as the user may know (RFC 4918, section 9). */
export async function requireParent({ files }: DavContext, { folder }: Pick<Target, 'folder'>): Promise<void> {
  const parent = parentOf(folder);
  // For users who may only add files, parents are created, which reveals nothing.
  if (!files.canRead(parent) || (await files.folderExists(parent))) return;
  throw new DavError(409, `The folder ${quoted(parent)} does not exist. Create it first.`);
}
