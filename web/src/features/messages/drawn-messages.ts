import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Message } from '../../model/messages.ts';

export interface DrawnMessage {
  readonly message: Message;
  /** Whether it is gone already, and only to be seen going. */
  readonly isLeaving: boolean;
}

/** The messages that are shown, and in their places those that are still on their way out, until they are forgotten. */
export function useDrawnMessages(shown: readonly Message[]): {
  readonly drawn: readonly DrawnMessage[];
  readonly forget: (id: number) => void;
} {
  const last = useRef<readonly DrawnMessage[]>([]);
  const [, redraw] = useState(0);

  const left = last.current
    .filter(({ message }) => !shown.some(({ id }) => id === message.id))
    .map(({ message }) => ({ message, isLeaving: true }));
  const staying = shown.map((message) => ({ message, isLeaving: false }));
  const drawn = [...left, ...staying].toSorted((one, other) => one.message.id - other.message.id);
  useLayoutEffect(() => {
    last.current = drawn;
  });

  return {
    drawn,
    forget(id) {
      last.current = last.current.filter(({ message }) => message.id !== id);
      redraw((count) => count + 1);
    },
  };
}
