import { freeName } from '../../platform/free-name.ts';
import { nameOf, parentOf } from '../../platform/paths.ts';
import { MAX_EDITED_BYTES } from '../../platform/preview-kinds.ts';
import { findFile, readFile, writeFile } from '../../platform/service/file-contents.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError, ServiceError } from '../../platform/service/service-error.ts';
import type { Draft, Drafts } from './drafts.ts';
import { decodeUtf8, encodeText, type TextFormat } from './text-file.ts';

/** The content of a file that the editor can't merge. */
export type OtherVersion =
  | { readonly kind: 'text'; readonly etag: string; readonly text: string }
  /** A file that is too large, or not text. */
  | { readonly kind: 'opaque'; readonly etag: string }
  | { readonly kind: 'missing' };

export type SaveResult =
  | { readonly kind: 'saved' }
  /** Another client has changed the file. */
  | { readonly kind: 'conflict'; readonly theirs: OtherVersion }
  | { readonly kind: 'failed'; readonly error: ServiceError };

export interface EditedFileOptions {
  readonly service: Pick<Service, 'send'>;
  readonly drafts: Drafts;
  readonly path: string;
  /** The ETag and the text of the version that the user edits. */
  readonly etag: string;
  readonly text: string;
  readonly format: TextFormat;
  readonly contentType: string;
}

/** Maximum attempts to save a file that other clients store with the same content. */
const MAX_ATTEMPTS = 5;

/** A text file that a user edits, and the version that it is based on. */
export class EditedFile {
  readonly #service: Pick<Service, 'send'>;
  readonly #drafts: Drafts;
  readonly #contentType: string;
  path: string;
  format: TextFormat;
  /** The text of the version that is stored, as far as the editor knows. */
  base: string;
  etag: string;

  constructor({ service, drafts, path, etag, text, format, contentType }: EditedFileOptions) {
    this.#service = service;
    this.#drafts = drafts;
    this.#contentType = withUtf8(contentType);
    this.path = path;
    this.base = text;
    this.etag = etag;
    this.format = format;
  }

  /** Stores a text if the file is still the version that the user edits. Never throws. */
  async save(text: string): Promise<SaveResult> {
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#write(text, this.path, { etag: this.etag });
      if (failure === undefined) return { kind: 'saved' };
      if (!isChanged(failure)) return { kind: 'failed', error: failure };
      let theirs: OtherVersion;
      try {
        theirs = await this.readOther();
      } catch (error) {
        return { kind: 'failed', error: asServiceError(error) };
      }
      // The response to an earlier attempt got lost, or another user made the same change.
      if (theirs.kind === 'text' && theirs.text === text) {
        this.#adopt(text, theirs.etag);
        return { kind: 'saved' };
      }
      if (theirs.kind !== 'text' || theirs.text !== this.base || attempt === MAX_ATTEMPTS) {
        return { kind: 'conflict', theirs };
      }
      this.etag = theirs.etag;
    }
  }

  /** Replaces another version, unless there is a still newer one, or creates the file again. */
  async overwrite(text: string, theirs: OtherVersion): Promise<SaveResult> {
    if (theirs.kind !== 'missing') {
      this.etag = theirs.etag;
      if (theirs.kind === 'text') this.base = theirs.text;
      return this.save(text);
    }
    const failure = await this.#write(text, this.path, 'absent');
    if (failure === undefined) return { kind: 'saved' };
    if (!isChanged(failure)) return { kind: 'failed', error: failure };
    return this.save(text);
  }

  /** Stores a text under a new name next to the file, and continues with that file. Never throws. */
  async saveCopy(text: string): Promise<SaveResult> {
    const folder = parentOf(this.path);
    const taken = new Set([nameOf(this.path)]);
    for (;;) {
      const name = freeName(nameOf(this.path), (candidate) => taken.has(candidate));
      const path = folder + name;
      const failure = await this.#write(text, path, 'absent');
      if (failure === undefined) {
        this.#drafts.remove(this.path);
        this.path = path;
        return { kind: 'saved' };
      }
      if (!isChanged(failure)) return { kind: 'failed', error: failure };
      taken.add(name);
    }
  }

  /** Reads the version that is stored now. Throws `ServiceError`. */
  async readOther(): Promise<OtherVersion> {
    try {
      const content = await readFile(this.#service, this.path, { maxBytes: MAX_EDITED_BYTES });
      if (content) {
        const decoded = decodeUtf8(content.bytes);
        const { etag } = content;
        return decoded ? { kind: 'text', etag, text: decoded.text } : { kind: 'opaque', etag };
      }
      const entry = await findFile(this.#service, this.path);
      return entry ? { kind: 'opaque', etag: entry.etag } : { kind: 'missing' };
    } catch (error) {
      if (error instanceof ServiceError && error.isNotFound) return { kind: 'missing' };
      throw error;
    }
  }

  /** Keeps a text that is not saved yet, so that it survives a reload. */
  keepDraft(text: string): void {
    if (text === this.base) this.#drafts.remove(this.path);
    else this.#drafts.put(this.path, { etag: this.etag, base: this.base, text });
  }

  readDraft(): Draft | undefined {
    return this.#drafts.read(this.path);
  }

  /**
   * Makes another version the one that the user edits, after its changes were merged or shown, or that of a draft. If the
   * file has changed since, saving finds the conflict.
   */
  rebase({ etag, base }: Pick<Draft, 'etag' | 'base'>): void {
    this.etag = etag;
    this.base = base;
  }

  async #write(
    text: string,
    path: string,
    replaces: 'absent' | { readonly etag: string },
  ): Promise<ServiceError | undefined> {
    try {
      const bytes = encodeText(text, this.format);
      const { etag } = await writeFile(this.#service, path, { bytes, contentType: this.#contentType, replaces });
      // A proxy can remove the header.
      const stored = etag === '' ? (await findFile(this.#service, path))?.etag : etag;
      this.#adopt(text, stored ?? '');
      return undefined;
    } catch (error) {
      return asServiceError(error);
    }
  }

  #adopt(text: string, etag: string): void {
    this.base = text;
    this.etag = etag;
    this.#drafts.remove(this.path);
  }
}

const isChanged = (error: ServiceError) =>
  error.is(['file-changed', 'condition-failed', 'name-taken', 'not-found'], 412);

/** Returns a media type whose charset, if it has one, is the encoding that the editor stores. */
function withUtf8(contentType: string): string {
  return contentType.replace(/;\s*charset=[^;]*/i, '');
}
