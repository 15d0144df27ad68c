import { nodeId, urlOf } from './addresses.ts';
import { type Call, ErrorResponse, notFound, type Response } from './exchange.ts';
import { isAncestor } from './history.ts';
import type { ObjectHeader } from './objects.ts';
import type { HostedRepository } from './repository.ts';

/** `GET /repos/{owner}/{repo}/git/ref/{ref}` */
export async function getRef(call: Call): Promise<Response> {
  const ref = `refs/${call.parameter}`;
  const target = isRefName(ref) ? await call.repository.objects.resolve(ref) : undefined;
  if (!target) throw notFound();
  return { status: 200, json: describeRef(call, ref, target) };
}

/** `POST /repos/{owner}/{repo}/git/refs` */
export async function createRef(call: Call): Promise<Response> {
  const { ref, sha } = call.body as { readonly ref: string; readonly sha: string };
  const { objects } = call.repository;
  if (!isRefName(ref))
    throw new ErrorResponse(422, `Reference name must start with 'refs' and contain at least two slashes.`);
  const target = await objects.header(sha);
  if (!target) throw new ErrorResponse(422, 'Object does not exist');
  if (await objects.resolve(ref)) throw new ErrorResponse(422, 'Reference already exists');
  try {
    await objects.updateRef(ref, sha, undefined);
  } catch (error) {
    // Another request has created the ref meanwhile, or another branch has a name that requires a folder here.
    if (await objects.resolve(ref)) throw new ErrorResponse(422, 'Reference already exists');
    throw notKnown(error);
  }
  return {
    status: 201,
    headers: { location: `${urlOf(call)}/git/${ref}` },
    json: describeRef(call, ref, target),
  };
}

/** `PATCH /repos/{owner}/{repo}/git/refs/{ref}` */
export async function updateRef(call: Call): Promise<Response> {
  const { sha, force = false } = call.body as { readonly sha: string; readonly force?: boolean };
  const { repository } = call;
  const ref = `refs/${call.parameter}`;
  const target = await repository.objects.header(sha);
  if (!isRefName(ref) || !(await repository.objects.resolve(ref)))
    throw new ErrorResponse(422, 'Reference does not exist');
  if (!target) throw new ErrorResponse(422, 'Object does not exist');
  refuseProtected(repository, ref);
  await moveRef(repository, ref, sha, (from) => force || isFastForward(repository, from, sha));
  return { status: 200, json: describeRef(call, ref, target) };
}

/** Branch protection applies to every kind of push. */
export function refuseProtected({ protections }: HostedRepository, ref: string): void {
  const message = protections.get(ref.replace(/^refs\/heads\//, ''));
  if (message !== undefined) throw new ErrorResponse(422, message);
}

/** Another client can move the ref meanwhile, and git then rejects the update: it is checked again. */
async function moveRef(
  { objects }: HostedRepository,
  ref: string,
  sha: string,
  mayMove: (from: string) => boolean | Promise<boolean>,
): Promise<void> {
  for (;;) {
    const from = (await objects.resolve(ref))?.sha;
    if (from === undefined) throw new ErrorResponse(422, 'Reference does not exist');
    if (from === sha) return;
    if (!(await mayMove(from))) throw new ErrorResponse(422, 'Update is not a fast forward');
    try {
      await objects.updateRef(ref, sha, from);
      return;
    } catch (error) {
      if ((await objects.resolve(ref))?.sha === from) throw error;
    }
  }
}

async function isFastForward({ objects }: HostedRepository, from: string, to: string): Promise<boolean> {
  if ((await objects.header(to))?.type !== 'commit') return false;
  return await isAncestor(objects, from, to);
}

/** `git check-ref-format`, except for names that git could mistake for a revision. */
export function isRefName(ref: string): boolean {
  const isOdd = /[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[./]$/.test(ref);
  return /^refs\/[^/]+\/./.test(ref) && !isOdd;
}

function notKnown(error: unknown): ErrorResponse {
  return new ErrorResponse(
    422,
    `Reference cannot be created: ${error instanceof Error ? error.message : String(error)}`,
  );
}

function describeRef(call: Call, ref: string, { sha, type }: ObjectHeader): unknown {
  const url = urlOf(call);
  return {
    ref,
    node_id: nodeId('REF', ref),
    url: `${url}/git/${ref}`,
    object: { sha, type, url: `${url}/git/${type}s/${sha}` },
  };
}
