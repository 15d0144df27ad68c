import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { VisitorLink, VisitorLinkResponse } from '../../../../src/http/schemas.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError, ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage, Text } from '../../platform/text/language.ts';
import type { Messages } from '../messages.ts';

/** The visit of a share link: the page shows only what is shared, to a visitor without an account. */
export interface Visit {
  /** The link, with the remaining downloads and uploads. Null while its properties are hidden, such as before the password. */
  readonly link: ReadonlySignal<VisitorLink | null>;
  /** What the page shows: the folder, one file, a file request, or why it can't show the shared item. */
  readonly kind: VisitKind;
  /** Why the link could not be opened; null if it could. */
  readonly problem: ServiceError | null;
  /** Whether the link has expired or was revoked since the page was loaded. */
  readonly hasEnded: ReadonlySignal<boolean>;
  /** Whether each content that the page requests counts as a download, so that it must request none by itself. */
  readonly countsDownloads: boolean;
  /** The conditions of the link in a few words; empty if the link has no conditions. */
  readonly conditions: ReadonlySignal<string>;
  /** The name of the sender of the uploads, as the visitor typed it. */
  readonly sender: Signal<string>;
  /** Reads the link again, with the remaining downloads and uploads. Throws `ServiceError`. */
  refresh(): Promise<void>;
  /** Downloads a URL if the link still allows that, otherwise shows a message. Never throws. */
  download(url: string): Promise<void>;
}

export type VisitKind = 'password' | 'not-found' | 'failed' | 'file' | 'request' | 'folder';

/** The state of a visit that its parts share. */
export interface VisitState extends Pick<Visit, 'problem' | 'sender'> {
  readonly link: Signal<VisitorLink | null>;
  readonly hasEnded: Signal<boolean>;
}

export interface VisitOptions {
  /** The service as the visitor uses it. */
  readonly service: Pick<Service, 'send'>;
  readonly messages: Messages;
  readonly language: ReadonlySignal<FullLanguage>;
  /** Lets the browser download a URL. */
  readonly startDownload: (url: string) => void;
}

/** Returns the state at the start. `problem` is the failure of the first request. */
export function createVisitState(link: VisitorLink | null, problem: ServiceError | null, sender: string): VisitState {
  return { link: signal(link), hasEnded: signal(false), problem, sender: signal(sender) };
}

export function createVisit(state: VisitState, { service, messages, language, startDownload }: VisitOptions): Visit {
  const { link } = state;
  const refresh = async () => {
    const response = await service.send<VisitorLinkResponse>('-/link');
    link.value = response.link;
  };
  const refuse = (error: ServiceError) => {
    const { text, reasonOf } = language.value;
    messages.show({ kind: 'error', text: text.downloads.notDownloaded, detail: reasonOf(error) });
  };
  const download = async (url: string) => {
    try {
      // A link that allows nothing more does not exist for visitors.
      if (link.value?.downloadsLeft !== 0) await refresh();
      if (link.value?.downloadsLeft === 0) {
        throw new ServiceError(403, 'No download is left.', { code: 'link-exhausted' });
      }
    } catch (error) {
      return refuse(asServiceError(error));
    }
    startDownload(url);
    countDownload(link);
  };
  return {
    ...state,
    kind: kindOf(state),
    countsDownloads: link.peek()?.downloadsLeft !== undefined,
    conditions: computed(() => (link.value === null ? '' : conditionsOf(link.value, language.value).join(' · '))),
    refresh,
    download,
  };
}

function kindOf({ link, problem }: VisitState): VisitKind {
  const { value } = link;
  if (value === null) {
    if (problem?.code === 'link-password-required') return 'password';
    return problem?.code === 'link-not-found' ? 'not-found' : 'failed';
  }
  if (value.type === 'file') return 'file';
  return value.permissions.includes('read') ? 'folder' : 'request';
}

/** Returns how many uploads are left, until when the link works, and how many downloads are left. */
function conditionsOf(
  { expiresAt, downloadsLeft, uploadsLeft }: VisitorLink,
  { text, formats }: FullLanguage,
): readonly string[] {
  return [
    uploadsLeft === undefined ? '' : uploadsLeftText(uploadsLeft, text),
    expiresAt === undefined ? '' : text.visit.expires({ time: formats.time(new Date(expiresAt)) }),
    downloadsLeft === undefined ? '' : downloadsLeftText(downloadsLeft, text),
  ].filter((condition) => condition !== '');
}

/** Returns how many downloads are left. */
function downloadsLeftText(count: number, { visit }: Text): string {
  return count === 0 ? visit.downloadsUsed : visit.downloadsLeft({ count });
}

/** Returns how many uploads are left. */
function uploadsLeftText(count: number, { visit }: Text): string {
  return count === 0 ? visit.uploadsUsed : visit.uploadsLeft({ count });
}

/** Subtracts a download until the next `refresh`. */
function countDownload(link: VisitState['link']): void {
  const { value } = link;
  if (value?.downloadsLeft === undefined) return;
  link.value = { ...value, downloadsLeft: Math.max(0, value.downloadsLeft - 1) };
}
