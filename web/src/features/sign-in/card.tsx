import type { ComponentChildren } from 'preact';
import mark from '../../ui/mark.svg';
import './sign-in.css';

/** A page that consists of a form or a notice in the middle. */
export function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <main class="sign-in-page">
      <div class="card">
        <header>
          <img src={mark} alt="Holdall" draggable={false} />
          <h1>{title}</h1>
        </header>
        {children}
      </div>
    </main>
  );
}
