import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { isPageReplaced } from '../platform/embedded.ts';
import type { Language } from '../platform/text/language.ts';

/** A message to the user, at the lower left of the page. */
export interface Message {
  readonly id: number;
  readonly kind: 'done' | 'error';
  readonly text: string;
  /** Details, such as the reason of a failure and what to do about it. */
  readonly detail?: string | undefined;
  /** The button of the message, labelled with a verb such as Undo or Retry. */
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

export interface Messages {
  readonly shown: ReadonlySignal<readonly Message[]>;
  /**
   * Shows a message for eight seconds, or longer while it is pointed at or focused. An error stays until it is
   * dismissed. Returns its ID.
   */
  show(message: Omit<Message, 'id'>): number;
  dismiss(id: number): void;
  /** The pixels at the lower edge of the window that messages cover; 0 without messages. */
  readonly coveredHeight: Signal<number>;
  /** While true, messages do not expire. */
  readonly isPaused: Signal<boolean>;
  /** Announces a text to screen readers without showing it. */
  announce(text: string): void;
  /** The text that screen readers announce when they are idle. */
  readonly announced: ReadonlySignal<string>;
  /** The error that screen readers announce immediately. */
  readonly announcedError: ReadonlySignal<string>;
}

/** Milliseconds for which a success message stays visible. */
const MESSAGE_DURATION_MS = 8_000;

export function createMessages(): Messages {
  const shown = signal<readonly Message[]>([]);
  const announced = signal('');
  const announcedError = signal('');
  const isPaused = signal(false);
  const coveredHeight = signal(0);
  let lastId = 0;

  const dismiss = (id: number) => {
    shown.value = shown.value.filter((message) => message.id !== id);
    // No `pointerleave` follows if the message under the pointer disappears.
    if (shown.value.length === 0) isPaused.value = false;
  };
  const dismissLater = (id: number) =>
    setTimeout(() => (isPaused.value ? dismissLater(id) : dismiss(id)), MESSAGE_DURATION_MS);

  // Screen readers ignore a text that has not changed.
  const announce = (region: Signal<string>, text: string) => {
    region.value = region.peek() === text ? `${text}\u00a0` : text;
  };

  return {
    shown,
    isPaused,
    coveredHeight,
    announced,
    announcedError,
    dismiss,
    show(message) {
      const id = ++lastId;
      shown.value = withinLimit([...shown.value, { ...message, id }]);
      if (message.kind !== 'error') dismissLater(id);
      const { kind, text, detail } = message;
      announce(kind === 'error' ? announcedError : announced, detail === undefined ? text : `${text} ${detail}`);
      return id;
    },
    announce: (text) => announce(announced, text),
  };
}

/** The maximum number of success messages; the newest ones stay. */
const MAX_SUCCESS_MESSAGES = 4;

/** Removes the oldest success messages above the limit. Keeps all errors: each can be the only report of a failure. */
function withinLimit(messages: readonly Message[]): readonly Message[] {
  const done = messages.filter(({ kind }) => kind === 'done').slice(-MAX_SUCCESS_MESSAGES);
  return messages.filter((message) => message.kind === 'error' || done.includes(message));
}

/**
 * Shows that code could not be loaded, with a button that helps: a reload if the page was updated on the server,
 * otherwise `retry`. Never throws.
 */
export async function reportLoadFailure(
  { messages, language }: { readonly messages: Messages; readonly language: ReadonlySignal<Language> },
  retry?: () => void,
): Promise<void> {
  const isReplaced = await isPageReplaced();
  const { problems, controls } = language.value.text;
  messages.show({
    kind: 'error',
    text: isReplaced ? problems.newVersion : problems.unreachable,
    ...(isReplaced && { action: { label: controls.reload, run: () => window.location.reload() } }),
    ...(!isReplaced && retry && { action: { label: controls.retry, run: retry } }),
  });
}
