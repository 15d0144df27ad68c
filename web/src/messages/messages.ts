import { type ReadonlySignal, type Signal, signal } from '@preact/signals';

/** Something that a person is told, at the lower left of the page. */
export interface Message {
  readonly id: number;
  readonly kind: 'done' | 'error';
  readonly text: string;
  /** More of it, such as the words of the service. */
  readonly detail?: string | undefined;
  /** What can be done about it: a verb, such as Undo or Retry. */
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

export interface Messages {
  readonly shown: ReadonlySignal<readonly Message[]>;
  /** Shows a message: for eight seconds and as long as it is pointed at or focused, an error until it is dismissed. */
  say(message: Omit<Message, 'id'>): void;
  dismiss(id: number): void;
  /** Pixels above the lower edge of the window that messages cover; 0 without messages. */
  readonly covered: Signal<number>;
  /** Keeps the messages from going while true. */
  readonly isHeld: Signal<boolean>;
  /** Reads a text out to those who listen to the page, without showing it. */
  announce(text: string): void;
  readonly announced: ReadonlySignal<string>;
  /** What is read out at once: an error. */
  readonly alarmed: ReadonlySignal<string>;
}

/** Milliseconds for which a message stays. */
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
    // What is pointed at went away with it.
    if (shown.value.length === 0) isHeld.value = false;
  };
  const dismissLater = (id: number) => setTimeout(() => (isHeld.value ? dismissLater(id) : dismiss(id)), STAY);

  // The same words twice would not be read out again.
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

/** Messages of what went well that are shown at once, the newest ones. */
const LIMIT = 4;

/** Errors stay, however many there are: each may be the only word of something that was lost. */
function withinLimit(messages: readonly Message[]): readonly Message[] {
  const done = messages.filter(({ kind }) => kind === 'done').slice(-LIMIT);
  return messages.filter((message) => message.kind === 'error' || done.includes(message));
}
