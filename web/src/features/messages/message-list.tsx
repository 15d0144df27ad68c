import type { Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Message } from '../../model/messages.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { useMessages } from '../models.ts';
import { useDrawnMessages } from './drawn-messages.ts';
import './message-list.css';

/** The visible messages and the texts for screen readers. */
export function MessageList() {
  const messages = useMessages();
  const { text } = useLanguage();
  const list = useRef<HTMLUListElement>(null);
  const { shown, isHeld } = messages;
  const { drawn, forget } = useDrawnMessages(shown.value);
  useCoveredHeight(list, messages.covered);

  return (
    <>
      <section
        class="messages"
        aria-label={text.messages.label}
        data-region="messages"
        onPointerEnter={() => {
          isHeld.value = true;
        }}
        onPointerLeave={() => {
          isHeld.value = false;
        }}
        onFocusIn={() => {
          isHeld.value = true;
        }}
        onFocusOut={() => {
          isHeld.value = false;
        }}
      >
        <ul ref={list}>
          {drawn.map(({ message, isLeaving }) => (
            <Item
              key={message.id}
              message={message}
              isLeaving={isLeaving}
              list={list}
              onGone={() => forget(message.id)}
            />
          ))}
        </ul>
      </section>
      <p class="visually-hidden" role="status">
        {messages.announced.value}
      </p>
      <p class="visually-hidden" role="alert">
        {messages.alarmed.value}
      </p>
    </>
  );
}

/** Publishes the height that messages cover, so that the list can keep its rows clear of them. */
function useCoveredHeight(list: RefObject<HTMLElement | null>, covered: Signal<number>): void {
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const set = (height: number) => {
      document.documentElement.style.setProperty('--messages', `${height}px`);
      covered.value = height;
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
  onGone: () => void;
}

function Item({ message: { id, kind, text, detail, action }, isLeaving, list, onGone }: ItemProps) {
  const messages = useMessages();
  const language = useLanguage();
  const dismiss = () => {
    leave(list.current);
    messages.dismiss(id);
  };
  return (
    <li
      class={`message ${kind}`}
      data-message={id}
      data-leaving={isLeaving || undefined}
      inert={isLeaving}
      onAnimationEnd={() => {
        if (isLeaving) onGone();
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

/** Moves the focus out of a message that disappears: to the next message, or back to the list of files. */
function leave(list: HTMLElement | null): void {
  const current = document.activeElement?.closest('[data-message]');
  if (!current || !list?.contains(current)) return;
  const others = [...list.querySelectorAll<HTMLElement>('[data-message]:not([data-leaving])')];
  const next = others.filter((message) => message !== current).at(-1);
  if (next) next.querySelector<HTMLElement>('button')?.focus();
  else focusRegion('list');
}
