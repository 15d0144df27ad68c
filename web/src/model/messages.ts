import { type ReadonlySignal, type Signal, signal } from '@preact/signals';

/** A message to the user, at the lower left of the page. */
export interface Message {
  readonly id: number;
  readonly kind: 'done' | 'error';
  readonly text: string;
  /** Details, such as the error message of the service. */
  readonly detail?: string | undefined;
  /** The button of the message, labelled with a verb such as Undo or Retry. */
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

export interface Messages {
  readonly shown: ReadonlySignal<readonly Message[]>;
  /**
   * Shows a message for eight seconds, or longer while it is pointed at or focused. An error stays until it is
   * dismissed.
   */
  say(message: Omit<Message, 'id'>): void;
  dismiss(id: number): void;
  /** Pixels above the lower edge of the window that messages cover; 0 without messages. */
  readonly covered: Signal<number>;
  /** While true, messages do not expire. */
  readonly isHeld: Signal<boolean>;
  /** Announces a text to screen readers without showing it. */
  announce(text: string): void;
  readonly announced: ReadonlySignal<string>;
  /** Errors, which screen readers announce immediately. */
  readonly alarmed: ReadonlySignal<string>;
}

/** Milliseconds for which a message stays visible. */
const STAY = 8_000;

export function createMessages(): Messages {
  const shown = signal<readonly Message[]>([]);
  const announced = signal('');
  const alarmed = signal('');
  const isHeld = signal(false);
  const covered = signal(0);
  let last = 0;

  const dismiss = (id: number) => {
    shown.value = shown.value.filter((message) => message.id !== id);
    // The pointed-at message disappeared, so no `pointerleave` follows.
    if (shown.value.length === 0) isHeld.value = false;
  };
  const dismissLater = (id: number) => setTimeout(() => (isHeld.value ? dismissLater(id) : dismiss(id)), STAY);

  // Screen readers would not announce the same text twice.
  const readOut = (voice: Signal<string>, text: string) => {
    voice.value = voice.peek() === text ? `${text}\u00a0` : text;
  };

  return {
    shown,
    isHeld,
    covered,
    announced,
    alarmed,
    dismiss,
    say(message) {
      const id = ++last;
      shown.value = withinLimit([...shown.value, { ...message, id }]);
      if (message.kind !== 'error') dismissLater(id);
      const { kind, text, detail } = message;
      readOut(kind === 'error' ? alarmed : announced, detail === undefined ? text : `${text} ${detail}`);
    },
    announce: (text) => readOut(announced, text),
  };
}

/** The maximum number of success messages; the newest ones stay. */
const LIMIT = 4;

/** Keeps all errors: each may be the only report of a failed operation. */
function withinLimit(messages: readonly Message[]): readonly Message[] {
  const done = messages.filter(({ kind }) => kind === 'done').slice(-LIMIT);
  return messages.filter((message) => message.kind === 'error' || done.includes(message));
}
