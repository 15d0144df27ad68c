import type { Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Message } from '../../model/messages.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { useMessages } from '../models.ts';
import './message-list.css';

/** The visible messages. */
export function ShownMessages() {
  const messages = useMessages();
  const { text } = useLanguage();
  const list = useRef<HTMLUListElement>(null);
  const { shown, isPaused } = messages;
  const { rendered, remove } = useRenderedMessages(shown.value);
  useCoveredHeight(list, messages.coveredHeight);
  const pause = () => {
    isPaused.value = true;
  };
  const resume = () => {
    isPaused.value = false;
  };

  return (
    <section
      class="messages"
      aria-label={text.messages.label}
      data-region="messages"
      data-aside
      onPointerEnter={pause}
      onPointerLeave={resume}
      onFocusIn={pause}
      onFocusOut={resume}
    >
      <ul ref={list}>
        {rendered.map(({ message, isLeaving }) => (
          <Item
            key={message.id}
            message={message}
            isLeaving={isLeaving}
            list={list}
            onLeft={() => remove(message.id)}
          />
        ))}
      </ul>
    </section>
  );
}

interface RenderedMessage {
  readonly message: Message;
  /** Whether the message was removed, and its animation has not ended yet. */
  readonly isLeaving: boolean;
}

/** Returns the shown messages, and the removed ones until `remove` is called at the end of their animation. */
function useRenderedMessages(shown: readonly Message[]): {
  readonly rendered: readonly RenderedMessage[];
  readonly remove: (id: number) => void;
} {
  const last = useRef<readonly RenderedMessage[]>([]);
  const [, rerender] = useState(0);

  const leaving = last.current
    .filter(({ message }) => !shown.some(({ id }) => id === message.id))
    .map(({ message }) => ({ message, isLeaving: true }));
  const staying = shown.map((message) => ({ message, isLeaving: false }));
  const rendered = [...leaving, ...staying].toSorted((a, b) => a.message.id - b.message.id);
  useLayoutEffect(() => {
    last.current = rendered;
  });

  return {
    rendered,
    remove(id) {
      last.current = last.current.filter(({ message }) => message.id !== id);
      rerender((count) => count + 1);
    },
  };
}

/** Publishes the height that messages cover, so that the list can keep its rows clear of them. */
function useCoveredHeight(list: RefObject<HTMLElement | null>, coveredHeight: Signal<number>): void {
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const set = (height: number) => {
      document.documentElement.style.setProperty('--messages', `${height}px`);
      coveredHeight.value = height;
    };
    const observer = new ResizeObserver(() => {
      const { height, top } = element.getBoundingClientRect();
      set(height === 0 ? 0 : window.innerHeight - top);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      set(0);
    };
  }, []);
}

interface ItemProps {
  message: Message;
  isLeaving: boolean;
  list: RefObject<HTMLElement | null>;
  /** Called at the end of the animation. */
  onLeft: () => void;
}

function Item({ message: { id, kind, text, detail, action }, isLeaving, list, onLeft }: ItemProps) {
  const messages = useMessages();
  const language = useLanguage();
  const dismiss = () => {
    moveFocusOut(list.current);
    messages.dismiss(id);
  };
  return (
    <li
      class={`message ${kind}`}
      data-message={id}
      data-leaving={isLeaving || undefined}
      inert={isLeaving}
      onAnimationEnd={() => {
        if (isLeaving) onLeft();
      }}
    >
      <Icon name={kind === 'error' ? 'warning' : 'check'} />
      <div class="words">
        <p>{text}</p>
        {detail !== undefined && (
          <p class="detail" dir="auto">
            {detail}
          </p>
        )}
      </div>
      {action && (
        <Button
          onClick={() => {
            dismiss();
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton icon="close" label={language.text.controls.dismiss} onClick={dismiss} />
    </li>
  );
}

/** Moves the focus out of a message that disappears: to the newest other message, or to the list of files. */
function moveFocusOut(list: HTMLElement | null): void {
  const current = document.activeElement?.closest('[data-message]');
  if (!current || !list?.contains(current)) return;
  const others = [...list.querySelectorAll<HTMLElement>('[data-message]:not([data-leaving])')];
  const next = others.filter((message) => message !== current).at(-1);
  if (next) next.querySelector<HTMLElement>('button')?.focus();
  else focusRegion('list');
}
