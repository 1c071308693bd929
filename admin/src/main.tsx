import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.tsx";
import { applyTheme } from "./preferences.ts";
import { queryClient } from "./session.ts";
import "./style/tokens.css";
import "./style/base.css";
import "./style/controls.css";
import "./style/frame.css";
import "./style/overlays.css";
import "./style/list.css";
import "./style/query.css";
import "./style/record.css";
import "./style/pages.css";
import "./style/narrow.css";

applyTheme();
const root = document.getElementById("root");
if (!root) throw new Error("The page has no element #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
