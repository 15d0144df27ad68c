import type { IncomingFile, UploadTarget } from '../files/upload.ts';
import { isStoreError } from '../model/error.ts';
import type { PermissionChecks } from './permission-checks.ts';

/**
 * An upload whose permissions are checked as soon as its target is known, and again before it is committed: both the
 * user's permissions and the request's identity can end while the content arrives.
 */
export class GuardedUpload {
  /** The upload to pass on, with the condition that the user's permissions require. */
  readonly incoming: IncomingFile;
  /** The target that the client requested; undefined while it is unknown. */
  target: UploadTarget | undefined;
  readonly #checks: PermissionChecks;
  #canReplace = true;

  constructor(checks: PermissionChecks, incoming: IncomingFile) {
    this.#checks = checks;
    const { target, atEnd } = incoming;
    if (typeof target === 'function') {
      checks.requireUploadAnywhere();
      this.incoming = { ...incoming, target: async () => this.#permit(await target()) };
      return;
    }
    const permitted = this.#authorize(target);
    this.incoming = {
      ...incoming,
      target: permitted,
      atEnd: async () => {
        await atEnd?.();
        await this.#permit(target);
      },
    };
  }

  /** Translates the error of a failed upload. A taken name is a refusal for users who may only add files. */
  fail(error: unknown): never {
    const isNameInUse = !this.#canReplace && this.target?.condition === undefined;
    if (this.target && isNameInUse && isStoreError(error, 'condition-failed')) {
      this.#checks.refuse('upload', this.target.path, 'replace');
    }
    throw error;
  }

  /** Checks identity and permissions at the end of the content. Returns the target with the required condition. */
  async #permit(target: UploadTarget): Promise<UploadTarget> {
    await this.#checks.confirmIdentity();
    const couldReplace = this.#canReplace;
    const isKnown = this.target !== undefined;
    const permitted = this.#authorize(target);
    // The store already got the condition of a target that was known before the content.
    if (isKnown && couldReplace && !this.#canReplace) this.#checks.refuse('upload', target.path, 'replace');
    return permitted;
  }

  #authorize(target: UploadTarget): UploadTarget {
    this.#canReplace = this.#checks.requireUpload(target.path, target.condition);
    this.target = target;
    return this.#canReplace ? target : { ...target, condition: 'absent' };
  }
}
