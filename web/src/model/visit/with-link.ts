import type { Listing } from '../../../../src/http/schemas.ts';
import type { Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { Upload } from '../../platform/service/upload.ts';
import { unlessAborted } from '../../platform/unless-aborted.ts';
import type { Permissions } from '../account/permissions.ts';
import type { VisitState } from './visit.ts';

export interface LinkedServiceOptions {
  readonly state: VisitState;
  readonly permissions: Permissions;
  /** Asks for the password again, because the visitor's access has expired. Resolves to whether it was correct. */
  readonly askPassword: () => Promise<boolean>;
  /** Asks for the name of the sender. Resolves to whether `state.sender` is valid now. */
  readonly askSender: () => Promise<boolean>;
}

/**
 * Wraps the service for a visitor: requests wait while the visitor enters the password again, and uploads until the name of
 * the sender is known. Records the end of the link, and the permissions and limits that responses reveal.
 */
export function withLink(
  service: Service,
  { state, permissions, askPassword, askSender }: LinkedServiceOptions,
): Service {
  const { link, hasEnded, sender } = state;
  let uploading = 0;
  const canRead = link.peek()?.permissions.includes('read') ?? false;

  const watched = async <Result>(request: () => Promise<Result>, signal?: AbortSignal): Promise<Result> => {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (error.code === 'link-not-found') hasEnded.value = true;
        if (error.code !== 'link-password-required' || !(await unlessAborted(askPassword(), signal))) throw error;
      }
    }
  };
  const list: Service['list'] = async (folder, options) => {
    if (!canRead && folder === '') return emptyListing(permissionsOf(state));
    try {
      const listing = await watched(() => service.list(folder, options), options?.signal);
      permissions.update(listing);
      return listing;
    } catch (error) {
      if (error instanceof ServiceError && error.isPermissionDenied) permissions.update({ prefix: folder, rights: [] });
      throw error;
    }
  };
  const upload = async (given: Upload) => {
    const isAsked = link.peek()?.askSender === true;
    if (isAsked && !(await unlessAborted(askSender(), given.signal))) {
      throw new ServiceError(400, 'The name of the sender is missing.', { code: 'sender-required' });
    }
    uploading += 1;
    try {
      const stored = await service.upload({
        ...given,
        ...(isAsked && { sender: sender.peek() }),
        // The service numbers a name that is taken. Its refusal would reveal that the name is taken.
        ...(!canRead && { replace: true }),
      });
      countUpload(link);
      return stored;
    } catch (error) {
      throw isUsedUp(error) ? new ServiceError(403, 'No upload is left.', { code: 'link-exhausted' }) : error;
    } finally {
      uploading -= 1;
    }
  };
  const createFolder: Service['createFolder'] = async (path, signal) => {
    const created = await service.createFolder(path, signal);
    countUpload(link);
    return created;
  };
  /** Returns whether the link does not exist anymore because this page used or is using all its uploads. */
  const isUsedUp = (error: unknown) => {
    const left = link.peek()?.uploadsLeft;
    const others = uploading - 1;
    return error instanceof ServiceError && error.code === 'link-not-found' && left !== undefined && left <= others;
  };
  /** Responses to HEAD have no body, so that the state of the link tells why the content is unavailable. */
  const check: Service['check'] = async (path, signal) => {
    try {
      await service.check(path, signal);
    } catch (error) {
      if (error instanceof ServiceError && [401, 404].includes(error.status)) await service.send('-/link', { signal });
      throw error;
    }
  };

  return {
    list,
    upload: (given) => watched(() => upload(given), given.signal),
    createFolder: (path, signal) => watched(() => createFolder(path, signal), signal),
    read: (path, range) => watched(() => service.read(path, range), range.signal),
    check: (path, signal) => watched(() => check(path, signal), signal),
    send: (endpoint, options) => watched(() => service.send(endpoint, options), options?.signal),
  };
}

/** Returns the permissions of the link; an empty list while its properties are hidden. */
export function permissionsOf({ link }: Pick<VisitState, 'link'>): NonNullable<Listing['rights']> {
  return [...(link.peek()?.permissions ?? [])];
}

/** Returns the listing of a folder whose content the visitor can't see. */
function emptyListing(rights: NonNullable<Listing['rights']>): Listing {
  return { success: true, prefix: '', entries: [], rights };
}

/** Subtracts an upload or new folder from those that are left. */
function countUpload(link: VisitState['link']): void {
  const { value } = link;
  if (value?.uploadsLeft === undefined) return;
  link.value = { ...value, uploadsLeft: Math.max(0, value.uploadsLeft - 1) };
}
